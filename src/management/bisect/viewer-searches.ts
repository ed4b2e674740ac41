/** Limits the running searches of viewers: each delays the others, and plans. */
import { Admission } from '../api/admission.ts';

export const viewerSearches = new Admission(2);
