/** The entry of the navigation that an address belongs to. */
const IN_SECTION: readonly (readonly [address: RegExp, section: string])[] = [
  [/^\/apps\/[^/]+\/keys(\/|$)/, '/keys'],
  // Ways to make and change apps.
  [/^\/(start|import)$/, '/apps'],
];

/** @returns the address of the entry, such as `/apps` for `/apps/shop/versions/v1` */
export function sectionOf(pathname: string): string {
  const found = IN_SECTION.find(([address]) => address.test(pathname));
  return found?.[1] ?? `/${pathname.split('/')[1] ?? ''}`;
}
