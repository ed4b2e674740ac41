/** The fields of a described request. */
import type { ReactNode } from 'react';
import { explainWords } from '../../text/explain.ts';
import { FieldGrid, TextArea, TextField } from '../../ui/controls/field.tsx';
import type { DescribedForm, FormErrors } from './described-request.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];

interface DescribedFieldsProps {
  readonly form: DescribedForm;
  readonly errors: FormErrors;
  readonly onForm: (part: Partial<DescribedForm>) => void;
}

export function DescribedFields({ form, errors, onForm }: DescribedFieldsProps): ReactNode {
  return (
    <>
      <FieldGrid>
        <TextField
          label={explainWords.method}
          isMono
          list="explain-methods"
          value={form.method}
          error={errors.method}
          onValue={(method) => onForm({ method })}
        />
        <TextField
          label={explainWords.url}
          hint={explainWords.urlHint}
          isMono
          placeholder="/"
          value={form.url}
          error={errors.url}
          onValue={(url) => onForm({ url })}
        />
        <TextField
          label={explainWords.host}
          hint={explainWords.hostHint}
          isMono
          value={form.host}
          error={errors.host}
          onValue={(host) => onForm({ host })}
        />
        <TextField
          label={explainWords.token}
          hint={explainWords.tokenHint}
          isMono
          type="password"
          autoComplete="off"
          value={form.token}
          error={errors.token}
          onValue={(token) => onForm({ token })}
        />
        <TextField
          label={explainWords.clientIp}
          isMono
          placeholder="127.0.0.1"
          value={form.clientIp}
          error={errors.clientIp}
          onValue={(clientIp) => onForm({ clientIp })}
        />
        <TextField
          label={explainWords.bodyBytes}
          inputMode="numeric"
          value={form.bodyBytes}
          error={errors.bodyBytes}
          onValue={(bodyBytes) => onForm({ bodyBytes })}
        />
      </FieldGrid>
      <TextArea
        label={explainWords.headers}
        hint={explainWords.headersHint}
        isMono
        rows={3}
        value={form.headers}
        error={errors.headers}
        onValue={(headers) => onForm({ headers })}
      />
      <datalist id="explain-methods">
        {METHODS.map((method) => (
          <option key={method}>{method}</option>
        ))}
      </datalist>
    </>
  );
}
