import type { ReadOperation } from '../operation.ts';
import { selectIndexWords } from './index-words.ts';
import { enoughRows, type ListArguments, type ListForm, listQueryOf, type RankedIdea } from './list-queries.ts';
import {
  branchCounts,
  farQueries,
  keyOfForm,
  keyOfSample,
  matchQueries,
  reaches,
  sampleOfStatus,
  sampleQueries,
  selectShownStatuses,
  type WalkForm,
  wholeWalk,
} from './walk-queries.ts';

/** From this offset on, a merge of the indexes of the statuses is faster than reading the first ideas of each status. */
const farOffset = 500;

type Form = Omit<ListForm, 'rowsOfStatus' | 'index'>;

/**
 * Reads a page of a list without a tag and a search text, if the page is far from the beginning of the list. Otherwise
 * returns undefined.
 */
export async function readFarPage(
  op: ReadOperation,
  form: Form,
  values: ListArguments,
): Promise<RankedIdea[] | undefined> {
  if (values.q !== '' || values.tagId !== 0 || values.offset < farOffset) return undefined;
  const { isPending, isPublic } = form;
  const statuses = await op.query(selectShownStatuses, { ...values, isPending, isPublic });
  return walk(op, farQueries, { ...form, ...wholeWalk }, { ...values, statusIds: statuses.map(({ id }) => id) });
}

/**
 * Reads a page of the published ideas that match a tag or a search text. Either walks through the list up to the end of
 * the page, or finds all ideas that match with an index, and sorts them. A sample of each status tells which way is
 * faster.
 */
export async function searchIdeas(op: ReadOperation, form: Form, given: ListArguments): Promise<RankedIdea[]> {
  const sample = sampleQueries.get(keyOfSample(form));
  if (!sample) throw new Error(`No query is named ${keyOfSample(form)}`);
  const [samples, indexed] = await Promise.all([
    op.query(sample, { ...given, isPending: false, isPublic: form.isPublic }),
    selectIndexWords(op, given.q),
  ]);
  const values = { ...given, statusIds: samples.map(({ id }) => id), indexWords: indexed?.words ?? null };
  const { offset, limit } = values;
  const walkTo = (reach: number) => {
    const isNear = reach === reaches.near && offset === 0;
    const rowsOfMatches = isNear ? (enoughRows.find(rows => rows >= limit) ?? null) : null;
    return walk(op, matchQueries, { ...form, hasOnlyWords: hasOnlyWords(values), reach, rowsOfMatches }, values);
  };
  const [read, found] = [sum(samples.map(one => one.read)), sum(samples.map(one => one.found))];
  if (samples.every(one => one.read < sampleOfStatus) && read <= smallBoard) {
    // The samples contain the whole list, and so does the near walk.
    const rows = await walkTo(reaches.near);
    if (rows) return rows;
  }
  const distance = (margin * (offset + limit) * read) / Math.max(found, 1);
  // The index finds the ideas with the rarest word before PostgreSQL compares them with the other words.
  const foundByIndex = Math.max(found / read, indexed?.frequency ?? 0) * (samples[0]?.all_ideas ?? 0);
  for (const reach of distance * walkedPerFound < foundByIndex ? reachesFrom(distance) : []) {
    const rows = await walkTo(reach);
    if (rows?.length === limit) return rows;
  }
  const index = values.tagId === 0 ? 'words' : 'tag';
  return op.query(listQueryOf({ ...form, rowsOfStatus: null, index }), values);
}

function hasOnlyWords({ q, tagId, authorId, createdAfter, createdBefore, updatedSince }: ListArguments): boolean {
  const filters = [authorId, createdAfter, createdBefore, updatedSince];
  return q !== '' && tagId === 0 && filters.every(filter => filter === null);
}

/**
 * Returns the reaches of the walks to try: the first reach that is long enough. If this walk does not fill the page, the
 * reach `deep` is still faster than the index.
 */
function reachesFrom(distance: number): number[] {
  const [first, ...others] = Object.values(reaches).filter(reach => reach >= distance);
  return first === undefined ? [] : [first, ...others.filter(reach => reach === reaches.deep)];
}

const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0);

/**
 * The near walk reads all ideas of a board with at most this number of ideas, even if clients create some ideas in the
 * meantime.
 */
const smallBoard = reaches.near - 100;

/** A walk may be longer than the sample says, because the matching ideas are not distributed evenly. */
const margin = 1.25;

/** The time to read an idea in a walk, divided by the time to read an idea that an index has found. */
const walkedPerFound = 0.25;

/** Walks through the indexes of the statuses. Returns undefined if the board has too many statuses for a walk. */
async function walk(
  op: ReadOperation,
  queries: typeof farQueries,
  form: Omit<WalkForm, 'branches'>,
  values: ListArguments,
): Promise<RankedIdea[] | undefined> {
  const branches = branchCounts.find(count => count >= values.statusIds.length);
  return branches === undefined ? undefined : op.query(queryOf(queries, { ...form, branches }), values);
}

function queryOf<Made>(queries: Map<string, Made>, form: WalkForm): Made {
  const found = queries.get(keyOfForm(form));
  if (!found) throw new Error(`No query is named ${keyOfForm(form)}`);
  return found;
}
