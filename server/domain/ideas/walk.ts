import { type Expression, type Kysely, sql } from 'kysely';
import { ideaSorts } from '../../../contract/idea.ts';
import { maxStatusesOfBoard } from '../../../contract/limits.ts';
import type { Arguments } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import {
  filters,
  isListed,
  isShown,
  keyOf,
  type ListArguments,
  type ListForm,
  type ListValues,
  matchesWords,
  taggedWith,
} from './list-queries.ts';

/*
 * A walk reads a list in its order. Without filters, it skips ideas without reading their rows. Each shown status has an
 * index in the order of the list. PostgreSQL merges the indexes, so it stops at the end of the page.
 *
 * The merge has one branch for each status. A constant number of branches keeps the SQL text constant. Branches without
 * a status find no ideas.
 */

export interface WalkForm extends Pick<ListForm, 'sort' | 'isPending' | 'hasCursor'> {
  branches: (typeof branchCounts)[number];
  conditions: Conditions;
  /** The maximum number of ideas that the query reads. Null if the query reads up to the end of the page. */
  reach: number | null;
}

/** The conditions that a list can have: at most a tag, only a search text, or a tag, a search text and filters. */
export type Conditions = 'tag' | 'words' | 'all';

export const branchCounts = [8, maxStatusesOfBoard] as const;

/**
 * The values of `reach`. They are constants in the SQL text, because PostgreSQL plans badly if it does not know such a
 * limit.
 */
export const reaches = { near: 500, deep: 20_000, far: 200_000 } as const;

export type StatusArguments = Pick<ListArguments, 'accountId' | 'boardId' | 'statusKey' | 'category'> & Reader;

/** Selects the shown statuses. The SQL alias is `shown`. */
export function shownStatuses(db: Kysely<Tables>, $: Arguments<StatusArguments>) {
  return db
    .selectFrom('statuses as shown')
    .where(shown => isShown(shown, $, { isPending: asBoolean($.isPending), isPublic: asBoolean($.isPublic) }));
}

interface Reader {
  isPending: boolean;
  isPublic: boolean;
}

export type WalkArguments = ListArguments & Reader;
export type WalkValues = Arguments<WalkArguments>;

const asBoolean = (value: Expression<boolean>) => sql<boolean>`${value}::boolean`;

export const yesOrNo = [false, true];

/** The columns that the filters of a list compare. */
export const filterColumns = ['title_words', 'author_id', 'created_at', 'updated_at'] as const;

/** Makes a query for each order of a list and each number of branches. The keys of the map are the keys of the forms. */
export function queriesOf<Form extends Omit<WalkForm, 'sort' | 'branches'>, Made>(
  ways: Form[],
  make: (form: Form & WalkForm) => Made,
): Map<string, Made> {
  const forms = ideaSorts.flatMap(sort =>
    branchCounts.flatMap(branches => ways.map(way => ({ ...way, sort, branches }))),
  );
  return new Map(forms.map(form => [keyOfForm(form), make(form)]));
}

export function keyOfForm(form: WalkForm & { rows?: number }): string {
  const { sort, isPending, conditions, hasCursor, branches, reach, rows } = form;
  const words = [
    sort,
    isPending && 'pending',
    conditions === 'words' && 'words',
    conditions === 'all' && 'filtered',
    hasCursor && 'after',
    rows !== undefined && `first_${rows}`,
    reach !== null && `to_${reach}`,
    `of_${branches}`,
  ];
  return words.filter(word => word !== false).join('_');
}

export function nameOf(kind: string, form: WalkForm) {
  return `${kind}_${keyOfForm(form)}`;
}

/**
 * Selects the ids of a list in its order. With a reach, the alias `i` also has the columns of the filters, because the
 * walk then reads all ideas, and the caller removes the ideas that do not match.
 */
export function walk(
  db: Kysely<Tables>,
  $: WalkValues,
  form: WalkForm,
  statusIds: Expression<number[]> = sql<number[]>`${$.statusIds}::bigint[]`,
) {
  const hasFilters = form.conditions !== 'tag';
  const columns = form.reach !== null && hasFilters ? filterColumns : [];
  const [first, ...others] = Array.from({ length: form.branches }, (_, index) => {
    const ofStatus = db
      .selectFrom('ideas as i')
      .select(['i.id', keyOf(form).as('key'), ...columns.map(column => `i.${column}` as const)])
      .where('i.status_id', '=', sql<number>`(${statusIds})[${sql.lit(index + 1)}]`)
      .where(i => isListed(i, $, { ...form, isFiltered: form.reach === null && hasFilters }))
      .orderBy(keyOf(form), 'desc')
      .orderBy('i.id', 'desc')
      .limit(form.reach ?? sql<number>`${$.offset}::bigint + ${$.limit}::bigint`)
      .as('of_status');
    return db.selectFrom(ofStatus).select(['id', 'key', ...columns]);
  });
  if (!first) throw new Error('A walk needs a branch.');
  const merged = others.reduce((union, other) => union.unionAll(other), first);
  const walked = db
    .selectFrom(merged.as('merged'))
    .select(['id', 'key', ...columns])
    .orderBy('key', 'desc')
    .orderBy('id', 'desc')
    .$if(form.reach !== null, ideas => ideas.limit(sql.lit(form.reach ?? 0)))
    .as('i');
  return db.selectFrom(walked).select(['i.id', 'i.key']);
}

export function firstOf(db: Kysely<Tables>, ideas: ReturnType<typeof walk>, rows: number) {
  return db.selectFrom(inOrder(ideas).limit(sql.lit(rows)).as('i')).select(['i.id', 'i.key']);
}

function inOrder(ideas: ReturnType<typeof walk>) {
  return ideas.orderBy('i.key', 'desc').orderBy('i.id', 'desc');
}

export function pageOf($: ListValues, ideas: ReturnType<typeof walk>) {
  return inOrder(ideas).offset(sql<number>`${$.offset}::bigint`).limit(sql<number>`${$.limit}::bigint`).as('page');
}

/**
 * The condition that an idea of a walk has the tag and matches the search text and the other filters. Looks up the tag
 * with a scalar subquery. PostgreSQL would turn another condition into a join, and read all ideas with the tag.
 */
export function matches(db: Kysely<Tables>, $: ListValues, conditions: Conditions) {
  if (conditions === 'words') return matchesWords($.q);
  const match = taggedWith(db, $)
    .whereRef('it.idea_id', '=', sql.ref('i.id'))
    .select(sql<boolean>`true`.as('is_match'));
  const hasTag = sql<boolean>`(${$.tagId}::bigint = 0 or coalesce(${match}, false))`;
  if (conditions === 'tag') return hasTag;
  const all = [hasTag, sql<boolean>`(${$.q}::text = '' or ${matchesWords($.q)})`, ...filters($)];
  return sql<boolean>`${sql.join(all, sql` and `)}`;
}
