/** The parts of a policy below each other, in the gateway's order; those that it does not know come last. */
import type { ReactNode } from 'react';
import type { Warning } from '../../api/schema.ts';
import { policyWords } from '../../text/policies.ts';
import { itemOf, literalsOf, memberOf, type JsonSchema } from '../../ui/editor/json-schema.ts';
import { stepsOf, type Problem } from '../../ui/editor/check-value.ts';
import { isSame } from '../save/merge-patch.ts';
import { copied, patchOf, withPart, type Draft } from './draft.ts';
import { PART_FORMS } from './forms/part-forms.tsx';
import { PartCard } from './part-card.tsx';
import { partNames, shadowAfter, shadowList } from './parts.ts';
import type { Inherited, LimitOfAddress } from './policy-place.ts';

interface PartListProps {
  readonly schema: JsonSchema;
  readonly draft: Draft;
  readonly change: (change: (draft: Draft) => Draft) => void;
  readonly inherited: Readonly<Record<string, Inherited>>;
  readonly perAddress: LimitOfAddress | undefined;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Warning[];
  readonly policyField: string;
  readonly mayEdit: boolean;
}

export function PartList(props: PartListProps): ReactNode {
  const { schema, draft, change, inherited, perAddress, problems, warnings, mayEdit } = props;
  const patch = patchOf(draft);
  const mayShadow = literalsOf(itemOf(memberOf(schema, 'shadow'))) ?? [];
  const inheritedShadow = inherited['shadow']?.value;
  const tried = shadowList(draft.value['shadow'], inheritedShadow);
  return partNames(schema, draft.value, inherited).map((part) => (
    <PartCard
      key={part}
      part={part}
      schema={memberOf(schema, part)}
      value={draft.value[part]}
      inherited={inherited[part]}
      isChanged={Object.hasOwn(patch, part)}
      mayEdit={mayEdit}
      shadow={
        mayShadow.includes(part)
          ? {
              isOn: tried.includes(part),
              onChange: (isOn) =>
                change((before) =>
                  withPart(
                    before,
                    'shadow',
                    shadowAfter(before.value['shadow'], inheritedShadow, part, isOn),
                  ),
                ),
            }
          : undefined
      }
      onValue={(value) => change((before) => withPart(before, part, value))}
      onSetHere={() =>
        change((before) =>
          withPart(before, part, copied(inherited[part]?.value ?? PART_FORMS[part]?.start ?? {})),
        )
      }
      errorAt={(pointer) => messageAt(problems, `/${part}`, pointer)}
      also={
        part === 'rate_limit' && perAddress !== undefined ? policyWords.perAddress(perAddress) : undefined
      }
      warnings={warnings
        .filter(({ pointer }) => stepsOf(pointer)[1] === part && isSame(draft.base[part], draft.value[part]))
        .map(({ detail }) => detail)}
    />
  ));
}

/** At the value itself, errors of the whole value; at a field, also the errors inside it. */
function messageAt(problems: readonly Problem[], part: string, pointer: string): string | undefined {
  const at = `${part}${pointer}`;
  const found =
    problems.find((problem) => problem.pointer === at) ??
    problems.find(
      (problem) => problem.pointer.startsWith(`${at}/`) && (pointer !== '' || isItem(problem, at)),
    );
  if (found === undefined) return undefined;
  const rest = stepsOf(found.pointer.slice(at.length));
  const [first] = rest;
  if (first === undefined) return found.message;
  return policyWords.at(
    /^\d+$/.test(first) ? policyWords.item(Number(first) + 1) : rest.join('.'),
    found.message,
  );
}

function isItem({ pointer }: Problem, at: string): boolean {
  return /^\/\d+$/.test(pointer.slice(at.length));
}
