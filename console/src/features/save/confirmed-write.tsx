/** Asks before a write that cannot be tried first, shows the same as curl and command, and makes it. */
import type { ReactNode } from 'react';
import type { CallOptions, OperationName } from '../../api/call.ts';
import { useWrite } from '../../api/queries.ts';
import type { Operations } from '../../api/schema.ts';
import type { ButtonLook } from '../../ui/controls/button.tsx';
import { ConfirmDialog } from '../../ui/overlay/confirm.tsx';
import { showToast } from '../../ui/overlay/toasts.tsx';
import { SameChange } from './same-change-view.tsx';

interface ConfirmedWriteProps<Name extends OperationName> {
  readonly operation: Name;
  readonly options: CallOptions<Name>;
  readonly title: string;
  /** What it does. */
  readonly children: ReactNode;
  readonly action: string;
  /** Default: of what does harm. */
  readonly look?: ButtonLook;
  /** Must be typed; absent: a press is enough. */
  readonly name?: string;
  /** Shown when it was made. */
  readonly done?: string | ((result: Operations[Name]['result']) => string);
  readonly onMade?: (result: Operations[Name]['result']) => void;
  /** Goes away from what is gone with it, before that is read again. */
  readonly leave?: () => Promise<void>;
  readonly onClose: () => void;
}

/** Stands in the page as long as it asks. */
export function ConfirmedWrite<Name extends OperationName>({
  operation,
  options,
  title,
  children,
  action,
  look,
  name,
  done,
  onMade,
  leave,
  onClose,
}: ConfirmedWriteProps<Name>): ReactNode {
  const write = useWrite(operation, leave);
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={title}
      action={action}
      {...(look !== undefined && { look })}
      {...(name !== undefined && { name })}
      below={<SameChange operation={operation} options={options} isConfiguration={false} />}
      onConfirm={async () => {
        const { body } = await write.mutateAsync(options);
        onMade?.(body);
        if (done !== undefined) showToast({ title: typeof done === 'string' ? done : done(body) });
      }}
    >
      {children}
    </ConfirmDialog>
  );
}
