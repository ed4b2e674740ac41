/** A secret in answers of the API. When it is sent back, the stored value stays. */
export const MASK = '********';
