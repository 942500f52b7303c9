import type { ListIdeasQuery, Status, ValidationIssue } from '@idea-board/client';
import { defaultPerPage, statusOfCategory } from '@idea-board/contract';
import { Refusal } from './refusal.ts';
import { type StoredIdea, tallyOf } from './stored-idea.ts';

interface PageQuery {
  page?: number | undefined;
  per_page?: number | undefined;
  cursor?: string | undefined;
}

/** The position of an entry in a list: its sort key and its id. */
type Place = readonly [key: string | number, id: number];

/** Sorts the entries of a list by their positions, and returns one page of them. */
export function pageOf<Entry>(
  entries: readonly Entry[],
  { page, per_page = defaultPerPage, cursor }: PageQuery,
  { sort, isDescending, placeOf }: { sort: string; isDescending: boolean; placeOf(entry: Entry): Place },
) {
  const direction = isDescending ? -1 : 1;
  const compare = (a: Place, b: Place) => direction * (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : a[1] - b[1]);
  const sorted = [...entries].sort((a, b) => compare(placeOf(a), placeOf(b)));
  const start = cursor === undefined ? undefined : readCursor(cursor, sort);
  const offset = ((page ?? 1) - 1) * per_page;
  const rest = start ? sorted.filter(entry => compare(placeOf(entry), start) > 0) : sorted.slice(offset);
  const data = rest.slice(0, per_page);
  const last = data.at(-1);
  const has_more = rest.length > per_page;
  return {
    data,
    page: start ? null : (page ?? 1),
    per_page,
    has_more,
    next_cursor: has_more && last ? btoa(JSON.stringify([sort, ...placeOf(last)])) : null,
  };
}

function readCursor(cursor: string, sort: string): Place {
  try {
    const [ofSort, key, id] = JSON.parse(atob(cursor));
    if (ofSort === sort) return [key, id];
  } catch {
    // The cursor is invalid, so the code below throws a Refusal.
  }
  const issue: ValidationIssue = {
    path: ['query', 'cursor'],
    code: 'custom',
    message: 'Is not a next_cursor of this list',
  };
  throw new Refusal('validation_failed', { issues: [issue] });
}

/** Whether an idea matches the filters of the list. */
export function matches(idea: StoredIdea, query: ListIdeasQuery): boolean {
  const { tag, author, created_after, created_before, updated_since } = query;
  const [createdAt, updatedAt] = [Date.parse(idea.createdAt), Date.parse(idea.updatedAt)];
  return (
    isInStatus(idea.status, query) &&
    hasWords(idea.title, query.q) &&
    (tag === undefined || idea.tags.some(({ id }) => id === tag)) &&
    (author === undefined || idea.author.id === author) &&
    (created_after === undefined || createdAt > Date.parse(created_after)) &&
    (created_before === undefined || createdAt < Date.parse(created_before)) &&
    (updated_since === undefined || updatedAt >= Date.parse(updated_since))
  );
}

const secondsOfWeek = 604_800;

/** Returns the sort key of an idea for the given sort order of the list. */
export function rankOf(idea: StoredIdea, sort: NonNullable<ListIdeasQuery['sort']>): string | number {
  const { score } = tallyOf(idea, 0);
  const doublings = Math.sign(score) * Math.log2(Math.max(1, Math.abs(score)));
  const ranks = {
    newest: idea.createdAt,
    top: score,
    updated: idea.updatedAt,
    comments: idea.comments.length,
    trending: Math.round(Date.parse(idea.createdAt) / 1000 + doublings * secondsOfWeek),
  };
  return ranks[sort];
}

function isInStatus(status: Status, { status: wanted, status_key, moderation_state }: ListIdeasQuery): boolean {
  if (status_key !== undefined) return status.key === status_key;
  if (wanted !== undefined) return statusOfCategory[status.category] === wanted;
  return moderation_state === 'pending' || !status.is_hidden;
}

/** Whether each word of the search is the beginning of a word in the title. An empty search matches every title. */
function hasWords(title: string, search: string | undefined): boolean {
  if (search === undefined || search === '') return true;
  const words = wordsOf(search);
  const ofTitle = wordsOf(title);
  return words.length > 0 && words.every(word => ofTitle.some(one => one.startsWith(word)));
}

function wordsOf(text: string): string[] {
  const folded = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  return folded.match(/[\p{L}\p{N}]+/gu) ?? [];
}
