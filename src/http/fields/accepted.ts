/** Lists of what a client accepts (RFC 9110 sections 12.5.1 and 12.5.3). Pure. */

/** Whether a list names a value, given in lower case, without a weight of 0. Wildcards do not count. */
export function isAccepted(list: string | readonly string[] | undefined, value: string): boolean {
  return String(list ?? '')
    .toLowerCase()
    .split(',')
    .some((item) => {
      const [name, ...parameters] = item.split(';').map((part) => part.trim());
      return name === value && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
    });
}
