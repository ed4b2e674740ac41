/** The two versions that are compared, kept in the address as `?compare=12-15`. */
import { useSearchText } from '../../page/search-text.ts';
import { chosenVersions } from './chosen-versions.ts';

interface Compared {
  /** None, one, or two; the first is the one to start from. */
  readonly chosen: readonly number[];
  readonly choose: (version: number, isChosen: boolean) => void;
  readonly swap: () => void;
  readonly clear: () => void;
}

export function useCompared(): Compared {
  const [text, setText] = useSearchText('compare');
  const chosen = chosenVersions(text);
  const set = (versions: readonly number[]): void => setText(versions.join('-'));
  return {
    chosen,
    choose: (version, isChosen) => {
      const others = chosen.filter((one) => one !== version);
      // A third one takes the place of the second.
      set(isChosen ? [...others.slice(0, 1), version].toSorted((a, b) => a - b) : others);
    },
    swap: () => set(chosen.toReversed()),
    clear: () => setText(''),
  };
}
