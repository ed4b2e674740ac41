import { expect, it } from 'vitest';
import { ApiError } from './api-error.ts';
import { callByName } from './call.ts';

it.each(['.', '..'])('a name from a link cannot make another call of it: %s', async (name) => {
  const calling = callByName('DELETE /apps/{app_id}/tokens/{token_id}', {
    path: { app_id: name, token_id: 'x' },
  });
  await expect(calling).rejects.toBeInstanceOf(ApiError);
  await expect(calling).rejects.toMatchObject({ status: 404 });
});
