/** Texts for operators: why an exchange was sent to its target. */
import { LOAD_FACTOR } from './hash-choice.ts';
import type { ChosenTarget } from './target-view.ts';

export function choiceReasonText(target: ChosenTarget): string {
  const { tried } = target;
  const again =
    tried === 0 ? '' : `${tried} ${tried === 1 ? 'target has' : 'targets have'} failed the request; `;
  return again + zoneText(target) + unhashedText(target) + choiceText(target);
}

function zoneText({ zone: choice }: ChosenTarget): string {
  if (choice === undefined) return '';
  const { zone, why } = choice;
  switch (why) {
    case 'own':
      return `of the targets in ${zone}, the zone of the gateway: `;
    case 'too_few':
      return `too few targets in ${zone}, the zone of the gateway, are in service, so those of all zones count: `;
    case 'none_left':
      return `no other target in ${zone}, the zone of the gateway, can serve it: `;
  }
}

/** A request without a value goes where the fewest requests are under way, and so does any further attempt. */
function unhashedText({ choice: { why }, targets, tried }: ChosenTarget): string {
  const isByLoad = tried === 0 && (why === 'fewer_requests' || why === 'only_one');
  const { algorithm } = targets.balancing;
  return algorithm === 'hash' && isByLoad ? `the request has no ${valueText(targets)} to hash; ` : '';
}

function choiceText({ choice, targets, tried }: ChosenTarget): string {
  const { why, load, other, otherLoad } = choice;
  const otherName = targets.list[other]?.backend.authority ?? '';
  switch (why) {
    case 'fewer_requests':
      return load === 0 && otherLoad === 0
        ? 'it was drawn by weight; neither of the two drawn targets had a request under way'
        : `two targets were drawn by weight: it had ${load} requests under way, ${otherName} had ${otherLoad}`;
    case 'only_one':
      return 'it was drawn by weight, and there was no other target to compare it with';
    case 'turn':
      return 'it was its turn, by weight';
    case 'hash':
      return `the hash of the ${valueText(targets)} leads to it`;
    case 'hash_overflow':
      return `the hash of the ${valueText(targets)} leads to ${otherName}, which has more than ${LOAD_FACTOR} times its share of the requests under way (${otherLoad}); it is the next`;
    case 'ejected':
      return `no ${tried === 0 ? '' : 'other '}target is in service, so those that are only ejected, and not unhealthy, are tried`;
    case 'none_in_service':
      return 'no target is in service, so all of them are tried';
  }
}

function valueText({ balancing: { hash } }: ChosenTarget['targets']): string {
  if (hash === undefined) return '';
  switch (hash.by) {
    case 'ip':
      return 'client’s address';
    case 'path':
      return `path parameter ${hash.name}`;
    default:
      return `${hash.by} ${hash.name}`;
  }
}
