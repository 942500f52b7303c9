import type { ReadOperation } from '../operation.ts';
import { selectIndexWords } from './index-words.ts';
import { enoughRows, type ListArguments, type ListForm, listQueryOf, type RankedIdea } from './list-queries.ts';
import { branchCounts, keyOfForm, reaches, type WalkArguments, type WalkForm } from './walk.ts';
import {
  type FirstForm,
  farQueries,
  firstPageQueries,
  keyOfSample,
  matchQueries,
  sampleOfStatus,
  sampleQueries,
  selectShownStatuses,
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
  const given = { ...values, isPending, isPublic };
  const statusIds = (await op.query(selectShownStatuses, given)).map(({ id }) => id);
  const conditions = form.isFiltered ? 'all' : 'tag';
  return walk(op, farQueries, { ...form, conditions, reach: null }, { ...given, statusIds });
}

/**
 * Reads a page of the published ideas that match a tag or a search text. Either walks through the list up to the end of
 * the page, or finds all ideas that match with an index, and sorts them. The beginning of the list tells which way is
 * faster. For a first page, the near walk has read the beginning. For other pages, a sample of each status reads it.
 */
export async function searchIdeas(op: ReadOperation, form: Form, list: ListArguments): Promise<RankedIdea[]> {
  const { offset, limit, q, tagId } = list;
  const given: WalkArguments = { ...list, isPending: false, isPublic: form.isPublic };
  const walkForm = { ...form, conditions: conditionsOf(form, list) };
  const readFirst = firstPageReader(op, walkForm, given);
  const [fewBranches, allBranches] = branchCounts;
  let first = await readFirst?.(fewBranches);
  if (first && isComplete(first, limit)) return first;

  const countsMatches = first === undefined;
  const sample = queryOf(sampleQueries, keyOfSample({ ...form, isFiltered: form.isFiltered && countsMatches }));
  const [samples, indexed] = await Promise.all([
    op.query(sample, { ...given, countsMatches }),
    selectIndexWords(op, q),
  ]);
  const statusIds = samples.map(({ id }) => id);
  if (statusIds.length > fewBranches) first = await readFirst?.(allBranches);
  if (first && isComplete(first, limit)) return first;

  const values = { ...given, statusIds, indexWords: indexed?.words ?? null };
  const walkTo = (reach: number) => walk(op, matchQueries, { ...walkForm, reach }, values);
  const sampled = sum(samples.map(one => one.read));
  if (samples.every(one => one.read < sampleOfStatus) && sampled <= smallBoard) {
    // The samples contain the whole list, and so does the near walk. If the first page has no ideas, it may not have
    // walked, because a moderator has just hidden one of too many statuses.
    const rows = first?.length ? first : await walkTo(reaches.near);
    if (rows) return rows;
  }
  const [read, found] = first ? [reaches.near, first.length] : [sampled, sum(samples.map(one => one.found))];
  const distance = (margin * (offset + limit) * read) / Math.max(found, 1);
  // The index finds the ideas with the rarest word before PostgreSQL compares them with the other words.
  const foundByIndex = Math.max(found / read, indexed?.frequency ?? 0) * (samples[0]?.all_ideas ?? 0);
  for (const reach of distance * walkedPerFound < foundByIndex ? reachesFrom(distance) : []) {
    const rows = await walkTo(reach);
    if (rows?.length === limit) return rows;
  }
  const index = tagId === 0 ? 'words' : 'tag';
  return op.query(listQueryOf({ ...form, rowsOfStatus: null, index }), values);
}

type FirstRows = (RankedIdea & { is_whole: boolean })[];

/** Returns the function that reads the first page of a list. Returns undefined for other pages. */
function firstPageReader(
  op: ReadOperation,
  form: Omit<FirstForm, 'rows' | 'reach' | 'branches'>,
  values: WalkArguments,
): ((branches: FirstForm['branches']) => Promise<FirstRows>) | undefined {
  const rows = enoughRows.find(enough => enough >= values.limit);
  if (values.offset > 0 || rows === undefined) return undefined;
  return branches =>
    op.query(queryOf(firstPageQueries, keyOfForm({ ...form, reach: reaches.near, branches, rows })), values);
}

function isComplete(rows: FirstRows, limit: number): boolean {
  return rows.length === limit || rows[0]?.is_whole === true;
}

function conditionsOf(
  { isFiltered }: Form,
  { q, tagId, authorId, createdAfter, createdBefore, updatedSince }: ListArguments,
): WalkForm['conditions'] {
  if (!isFiltered) return 'tag';
  const filters = [authorId, createdAfter, createdBefore, updatedSince];
  return q !== '' && tagId === 0 && filters.every(filter => filter === null) ? 'words' : 'all';
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
  values: WalkArguments,
): Promise<RankedIdea[] | undefined> {
  const branches = branchCounts.find(count => count >= values.statusIds.length);
  return branches === undefined ? undefined : op.query(queryOf(queries, keyOfForm({ ...form, branches })), values);
}

function queryOf<Made>(queries: Map<string, Made>, key: string): Made {
  const found = queries.get(key);
  if (!found) throw new Error(`No query is named ${key}`);
  return found;
}
