/** Pages count so far, and say that there are more: a larger number tells nobody more, and would cost a scan. */
export const countLimit = 1000;

/** The SQL that counts the rows of a `from` clause, as far as one more than countLimit. */
export function countOf(from: string): string {
  return `(select count(*) from (select ${from} limit ${countLimit + 1}) counted)`;
}
