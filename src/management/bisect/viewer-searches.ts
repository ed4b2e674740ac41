/** Searches through config versions that viewers have running: each keeps the others waiting, also for plans. */
import { Admission } from '../api/admission.ts';

export const viewerSearches = new Admission(2);
