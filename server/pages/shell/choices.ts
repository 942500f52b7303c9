export function optionsOf(labels: Iterable<readonly [value: string, label: string]>, chosen = '') {
  return Array.from(labels, ([value, label]) => ({ value, label, isChosen: value === chosen }));
}
