/**
 * What is made of an object, made once and kept as long as the object: for values of the configuration that many routes
 * inherit.
 */

/** @param make pure; its argument must not change afterwards */
export function oncePer<K extends object, V>(make: (key: K) => V): (key: K) => V {
  const made = new WeakMap<K, { readonly value: V }>();
  return (key) => {
    let known = made.get(key);
    if (known === undefined) {
      known = { value: make(key) };
      made.set(key, known);
    }
    return known.value;
  };
}
