/** Shared by the forms of sampling and of debug tokens: the app, and the duration. */
import type { ReactNode } from 'react';
import { fieldMessage } from '../../api/api-error.ts';
import { useRead } from '../../api/queries.ts';
import { setupWords as say } from '../../text/explain-setup.ts';
import { TextField } from '../../ui/controls/field.tsx';

const MINUTE_SECS = 60;
/** Pointers of the fields that show their own errors. */
export const SETUP_POINTERS = ['/app', '/seconds', '/rate'];

/** The values as typed. */
export interface Scope {
  readonly app: string;
  readonly minutes: string;
}

export const secondsOf = ({ minutes }: Scope): number => Math.round(Number(minutes) * MINUTE_SECS);

/** Something that a call can say; what is wrong with it, the API says. */
export const isDuration = (scope: Scope): boolean => secondsOf(scope) > 0;

/** An empty text means every app. */
export const appOf = ({ app }: Scope): { readonly app?: string } =>
  app.trim() === '' ? {} : { app: app.trim() };

interface ScopeFieldsProps {
  readonly scope: Scope;
  readonly onScope: (scope: Scope) => void;
  readonly error: Error | null;
}

export function ScopeFields({ scope, onScope, error }: ScopeFieldsProps): ReactNode {
  return (
    <>
      <TextField
        label={say.app}
        hint={say.appHint}
        error={fieldMessage(error, '/app')}
        value={scope.app}
        onValue={(app) => onScope({ ...scope, app })}
        isMono
        maxLength={64}
      />
      <TextField
        label={say.minutes}
        hint={say.minutesHint}
        error={fieldMessage(error, '/seconds')}
        value={scope.minutes}
        onValue={(minutes) => onScope({ ...scope, minutes })}
        type="number"
        min={1}
        max={60}
        required
      />
    </>
  );
}

/** The slug of an app by its id. @param appId null: all apps */
export function useAppName(appId: string | null): string {
  const app = useRead('GET /apps/{app_id}', { path: { app_id: appId ?? '' } }, { enabled: appId !== null });
  return appId === null ? say.anyApp : (app.data?.body.data.slug ?? appId);
}
