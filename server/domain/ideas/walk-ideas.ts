import type { ReadOperation } from '../operation.ts';
import type { ListArguments, ListForm, RankedIdea } from './list-queries.ts';
import {
  branchCounts,
  farQueries,
  keyOfForm,
  matchQueries,
  reaches,
  sampleQueries,
  selectShownStatuses,
  type WalkForm,
} from './walk-queries.ts';

/** From this offset on, a merge of the indexes of the statuses is faster than reading the first ideas of each status. */
const farOffset = 500;

type Form = Pick<ListForm, 'sort' | 'isPending' | 'isPublic' | 'isFiltered' | 'hasCursor'>;

/**
 * Reads a page of a list in the order of the list, up to the end of the page. Returns undefined if another way is
 * faster: for the first pages without a tag or a search text, and for a tag or a search text that few ideas have.
 */
export async function walkList(
  op: ReadOperation,
  form: Form,
  values: ListArguments,
): Promise<RankedIdea[] | undefined> {
  const isSearch = values.q !== '' || values.tagId !== 0;
  if (isSearch ? form.isPending : values.offset < farOffset) return undefined;
  const { isPending, isPublic } = form;
  const statuses = await op.query(selectShownStatuses, { ...values, isPending, isPublic });
  const branches = branchCounts.find(count => count >= statuses.length);
  if (branches === undefined) return undefined;
  const walk = {
    form: { ...form, branches },
    values: { ...values, statusIds: statuses.map(({ id }) => id) },
    isSmall: statuses.every(({ is_small }) => is_small),
  };
  return isSearch ? search(op, walk) : op.query(queryOf(farQueries, { ...walk.form, reach: null }), walk.values);
}

interface Walk {
  form: Omit<WalkForm, 'reach'>;
  values: ListArguments;
  /** Whether the board is small: then a query that reads the first `reaches.near` ideas reads the whole list. */
  isSmall: boolean;
}

/**
 * Reads a page of the ideas that match the tag or the search text. First looks for matches among the first
 * `reaches.near` ideas of the list, to estimate how far the page is from the beginning. Returns undefined if it is
 * faster to read all ideas that match.
 */
async function search(op: ReadOperation, { form, values, isSmall }: Walk): Promise<RankedIdea[] | undefined> {
  const formOf = (reach: number) => ({ ...form, isFiltered: false, reach });
  const read = (reach: number) => op.query(queryOf(matchQueries, formOf(reach)), values);
  let found: number;
  if (values.offset === 0 || isSmall) {
    const rows = await read(reaches.near);
    if (isSmall || rows.length === values.limit) return rows;
    found = rows.length;
  } else {
    const [sample] = await op.query(queryOf(sampleQueries, formOf(reaches.near)), values);
    found = sample?.found ?? 0;
  }
  const wanted = values.offset + values.limit;
  if (found >= wanted) return read(reaches.near);
  // Leaves a margin, because the matching ideas are not distributed evenly.
  const distance = (wanted / found) * reaches.near * 1.25;
  const reach = longReaches.find(each => each.isOf(found) && each.reach >= distance)?.reach;
  if (reach === undefined) return undefined;
  const rows = await read(reach);
  return rows.length === values.limit ? rows : undefined;
}

/**
 * Reading many ideas in the order of the list pays off only if many of them match. If few ideas match, it is faster to
 * read all matching ideas.
 */
const longReaches = [
  { reach: reaches.deep, isOf: (found: number) => found >= 3 },
  { reach: reaches.far, isOf: (found: number) => found >= reaches.near / 10 },
];

function queryOf<Made>(queries: Map<string, Made>, form: WalkForm): Made {
  const found = queries.get(keyOfForm(form));
  if (!found) throw new Error(`No query is named ${keyOfForm(form)}`);
  return found;
}
