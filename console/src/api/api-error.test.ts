import { expect, it } from 'vitest';
import { ApiError } from './api-error.ts';

const error = new ApiError(422, {
  errors: [
    { pointer: '/name', detail: 'must not be empty' },
    { pointer: '/hosts/0', detail: 'may contain letters' },
    { pointer: '/hosts/2', detail: 'must not have an empty label' },
    { pointer: '/targets/1/port', detail: 'must be an integer' },
    { pointer: '/circuit_breaker/failures', detail: 'must be at least 1' },
  ],
});

it.each([
  ['/name', 'must not be empty'],
  ['/hosts', 'Entry 1: may contain letters; Entry 3: must not have an empty label'],
  ['/hosts/2', 'must not have an empty label'],
  ['/targets', 'Entry 2: must be an integer'],
  ['/circuit_breaker', 'must be at least 1'],
  ['/host', undefined],
  ['/slug', undefined],
])('says at the field %s what is wrong there and below', (pointer, text) => {
  expect(error.fieldMessage(pointer)).toBe(text);
});
