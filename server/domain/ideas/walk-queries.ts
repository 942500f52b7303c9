import { type Expression, type Kysely, sql } from 'kysely';
import { ideaSorts } from '../../../contract/idea.ts';
import { maxStatusesOfBoard } from '../../../contract/limits.ts';
import { type Arguments, query } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import {
  enoughRows,
  filters,
  ideasOfPage,
  isListed,
  isShown,
  keyOf,
  type ListArguments,
  type ListForm,
  type ListValues,
  matchesWords,
  taggedWith,
} from './list-queries.ts';

/**
 * These queries read a list in its order. Without filters, they skip ideas without reading their rows. Each shown
 * status has an index in the order of the list. PostgreSQL merges the indexes, so it stops at the end of the page.
 *
 * The merge has one branch for each status. A constant number of branches keeps the SQL text constant. Branches without
 * a status find no ideas.
 */
export interface WalkForm extends Pick<ListForm, 'sort' | 'isPending' | 'isFiltered' | 'hasCursor'> {
  branches: (typeof branchCounts)[number];
  /** Whether the search text is the only condition. The list then has no tag and no filter. */
  hasOnlyWords: boolean;
  /** The maximum number of ideas that the query reads. Null if the query reads up to the end of the page. */
  reach: number | null;
}

/** The form of the query that reads the first page of a list with a tag or a search text. */
export interface FirstForm extends WalkForm {
  /**
   * The maximum number of ideas of the page. With this constant, PostgreSQL keeps the plan if a tag or the search text
   * is the only condition. Otherwise it makes a new plan for each call, which takes twice as long as the walk.
   */
  rows: (typeof enoughRows)[number];
}

export const branchCounts = [8, maxStatusesOfBoard] as const;

/**
 * The values of `reach`. They are constants in the SQL text, because PostgreSQL plans badly if it does not know such a
 * limit.
 */
export const reaches = { near: 500, deep: 20_000, far: 200_000 } as const;

type StatusArguments = Pick<ListArguments, 'accountId' | 'boardId' | 'statusKey' | 'category'> & Reader;

/** Selects the ids of the shown statuses. */
export const selectShownStatuses = query('select_shown_statuses', (db, $: Arguments<StatusArguments>) =>
  shownStatuses(db, $).select('shown.id'),
);

function shownStatuses(db: Kysely<Tables>, $: Arguments<StatusArguments>) {
  return db
    .selectFrom('statuses as shown')
    .where(shown => isShown(shown, $, { isPending: asBoolean($.isPending), isPublic: asBoolean($.isPublic) }));
}

interface Reader {
  isPending: boolean;
  isPublic: boolean;
}

export type WalkArguments = ListArguments & Reader;
type WalkValues = Arguments<WalkArguments>;

const asBoolean = (value: Expression<boolean>) => sql<boolean>`${value}::boolean`;

const yesOrNo = [false, true];

/** The columns that the filters of a list compare. */
const filterColumns = ['title_words', 'author_id', 'created_at', 'updated_at'] as const;

/** The limits of a walk up to the end of the page. */
export const wholeWalk = { hasOnlyWords: false, reach: null } as const;

/** Reads one page at any offset, without a tag or a search text. */
export const farQueries = queriesOf(
  yesOrNo.flatMap(isPending => yesOrNo.map(isFiltered => ({ isPending, isFiltered, hasCursor: false, ...wholeWalk }))),
  form => {
    const name = nameOf('far_ideas', form);
    return query(name, (db, $: WalkValues) => ideasOfPage(db, $, pageOf($, walk(db, $, form))), {
      // A query with filters is not prepared, because its best plan depends on the values of the filters.
      isPrepared: !form.isFiltered,
    });
  },
);

const conditions = [
  { isFiltered: false, hasOnlyWords: false },
  { isFiltered: true, hasOnlyWords: false },
  { isFiltered: true, hasOnlyWords: true },
];

const matchForms = conditions.flatMap(condition =>
  yesOrNo.map(hasCursor => ({ isPending: false, hasCursor, ...condition })),
);

/**
 * Reads a list from its beginning or after a cursor. Selects a page of the ideas that match the tag, the search text
 * and the filters.
 */
export const matchQueries = queriesOf(
  matchForms.flatMap(form => Object.values(reaches).map(reach => ({ ...form, reach }))),
  form =>
    query(nameOf('match_ideas', form), (db, $: WalkValues) =>
      ideasOfPage(
        db,
        $,
        pageOf(
          $,
          walk(db, $, form).where(() => matches(db, $, form)),
        ),
      ),
    ),
);

/**
 * If at most this number of ideas have the tag, the first page is read with the index of tags. A walk would have to
 * read many other ideas.
 */
const fewTagged = 100;

/**
 * Reads the first page of a list from its beginning or after a cursor, with one statement. Walks near, or reads the
 * ideas of a tag that few ideas have. The column is_whole tells that the page has all ideas of the list that follow the
 * cursor. A page that is neither full nor whole may miss ideas. If the board has more shown statuses than branches, the
 * walk finds no ideas.
 */
export const firstPageQueries = queriesOf(
  matchForms.flatMap(form => enoughRows.map(rows => ({ ...form, reach: reaches.near, rows }))),
  form => query(nameOf('first_ideas', form), (db, $: WalkValues) => firstPage(db, $, form)),
);

function firstPage(db: Kysely<Tables>, $: WalkValues, form: FirstForm) {
  const hasOnlyTag = !form.isFiltered;
  const [statusIds, tagged] = [sql.ref<number[]>('list.status_ids'), sql.ref<number>('list.tagged')];
  const isWhole = hasOnlyTag ? sql<boolean>`${tagged} <= ${sql.lit(fewTagged)}` : sql.lit(false);
  // The limit lets PostgreSQL evaluate the columns only once.
  const list = db
    .selectNoFrom([
      sql<number[]>`array(${shownStatuses(db, $).select('shown.id')})`.as('status_ids'),
      (hasOnlyTag ? countFewTagged(db, $) : sql.lit(0)).as('tagged'),
    ])
    .limit(1);
  const near = firstOf(
    db,
    walk(db, $, form, statusIds).where(() => matches(db, $, form)),
    form.rows,
  )
    .where(sql<boolean>`cardinality(${statusIds}) <= ${sql.lit(form.branches)}`)
    .where(sql<boolean>`not ${isWhole}`);
  const ideas = hasOnlyTag ? near.unionAll(fewIdeas(db, $, form, statusIds).where(isWhole)) : near;
  const page = db
    .selectFrom(list.as('list'))
    .crossJoinLateral(ideas.as('listed'))
    .select(['listed.id', 'listed.key', isWhole.as('is_whole')])
    .orderBy('listed.key', 'desc')
    .orderBy('listed.id', 'desc')
    .limit(sql<number>`${$.limit}::bigint`)
    .as('page');
  return ideasOfPage(db, $, page).select(sql.ref<boolean>('page.is_whole').as('is_whole'));
}

/** Counts the ideas with the tag, but at most one more than fewTagged. */
function countFewTagged(db: Kysely<Tables>, $: WalkValues) {
  const few = taggedWith(db, $)
    .select('it.idea_id')
    .limit(sql.lit(fewTagged + 1));
  return sql<number>`(select count(*) from (${few}) few)`;
}

function fewIdeas(db: Kysely<Tables>, $: WalkValues, form: FirstForm, statusIds: Expression<number[]>) {
  return db
    .selectFrom(taggedWith(db, $).select('it.idea_id').limit(sql.lit(fewTagged)).as('it'))
    .crossJoinLateral(from =>
      from
        .selectFrom('ideas as i')
        .select(['i.id', keyOf(form).as('key')])
        .whereRef('i.id', '=', 'it.idea_id')
        .where(i => i('i.status_id', '=', i.fn.any(statusIds)))
        .where(i => isListed(i, $, form))
        .limit(1)
        .as('i'),
    )
    .select(['i.id', 'i.key']);
}

/** The number of ideas of each status that a sample reads. */
export const sampleOfStatus = 100;

/**
 * Selects the ids of the shown statuses. For each status, counts the ideas at the beginning of the list, and the ideas
 * among them that match. Each row also has the estimated number of ideas on all boards.
 */
export const sampleQueries = new Map(
  ideaSorts.flatMap(sort =>
    yesOrNo.flatMap(isFiltered =>
      yesOrNo.map(hasCursor => {
        const form = { sort, isFiltered, hasCursor };
        return [keyOfSample(form), query(`sample_ideas_${keyOfSample(form)}`, sampleOf(form))];
      }),
    ),
  ),
);

interface SampleArguments extends WalkArguments {
  /** Whether to count the matching ideas. */
  countsMatches: boolean;
}

type SampleForm = Pick<WalkForm, 'sort' | 'isFiltered' | 'hasCursor'>;

function sampleOf(form: SampleForm) {
  const condition = { isFiltered: form.isFiltered, hasOnlyWords: false };
  return (db: Kysely<Tables>, $: Arguments<SampleArguments>) =>
    shownStatuses(db, $)
      .innerJoinLateral(
        from =>
          from
            .selectFrom(firstIdeas(db, $, form))
            .select(i => [
              i.fn.countAll<number>().as('read'),
              i.fn
                .countAll<number>()
                .filterWhere(() => sql`${$.countsMatches}::boolean and ${matches(db, $, condition)}`)
                .as('found'),
            ])
            .as('sample'),
        join => join.onTrue(),
      )
      .select(['shown.id', 'sample.read', 'sample.found'])
      .select(sql<number>`(select reltuples from pg_class where oid = 'ideas'::regclass)`.as('all_ideas'));
}

/** Without filters, PostgreSQL reads only the index, because the sample does not need the rows of the ideas. */
function firstIdeas(db: Kysely<Tables>, $: ListValues, form: SampleForm) {
  return db
    .selectFrom('ideas as i')
    .select(['i.id', ...(form.isFiltered ? filterColumns : []).map(column => `i.${column}` as const)])
    .where('i.status_id', '=', sql.ref<number>('shown.id'))
    .where(i => isListed(i, $, { ...form, isPending: false, isFiltered: false }))
    .orderBy(keyOf(form), 'desc')
    .orderBy('i.id', 'desc')
    .limit(sql.lit(sampleOfStatus))
    .as('i');
}

export function keyOfSample({ sort, isFiltered, hasCursor }: SampleForm): string {
  return [sort, isFiltered && 'filtered', hasCursor && 'after'].filter(word => word !== false).join('_');
}

function queriesOf<Form extends Omit<WalkForm, 'sort' | 'branches'>, Made>(
  ways: Form[],
  make: (form: Form & WalkForm) => Made,
): Map<string, Made> {
  const forms = ideaSorts.flatMap(sort =>
    branchCounts.flatMap(branches => ways.map(way => ({ ...way, sort, branches }))),
  );
  return new Map(forms.map(form => [keyOfForm(form), make(form)]));
}

export function keyOfForm(form: WalkForm & Partial<FirstForm>): string {
  const { sort, isPending, isFiltered, hasOnlyWords, hasCursor, branches, reach, rows } = form;
  const words = [
    sort,
    isPending && 'pending',
    isFiltered && (hasOnlyWords ? 'words' : 'filtered'),
    hasCursor && 'after',
    rows !== undefined && `first_${rows}`,
    reach !== null && `to_${reach}`,
    `of_${branches}`,
  ];
  return words.filter(word => word !== false).join('_');
}

function nameOf(kind: string, form: WalkForm) {
  return `${kind}_${keyOfForm(form)}`;
}

/**
 * Selects the ids of a list in its order. With a reach, the alias `i` also has the columns of the filters, because the
 * walk then reads all ideas, and the caller removes the ideas that do not match.
 */
function walk(
  db: Kysely<Tables>,
  $: WalkValues,
  form: WalkForm,
  statusIds: Expression<number[]> = sql<number[]>`${$.statusIds}::bigint[]`,
) {
  const columns = form.reach !== null && form.isFiltered ? filterColumns : [];
  const [first, ...others] = Array.from({ length: form.branches }, (_, index) => {
    const ofStatus = db
      .selectFrom('ideas as i')
      .select(['i.id', keyOf(form).as('key'), ...columns.map(column => `i.${column}` as const)])
      .where('i.status_id', '=', sql<number>`(${statusIds})[${sql.lit(index + 1)}]`)
      .where(i => isListed(i, $, { ...form, isFiltered: form.reach === null && form.isFiltered }))
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

function firstOf(db: Kysely<Tables>, ideas: ReturnType<typeof walk>, rows: number) {
  return db.selectFrom(inOrder(ideas).limit(sql.lit(rows)).as('i')).select(['i.id', 'i.key']);
}

function inOrder(ideas: ReturnType<typeof walk>) {
  return ideas.orderBy('i.key', 'desc').orderBy('i.id', 'desc');
}

function pageOf($: ListValues, ideas: ReturnType<typeof walk>) {
  return inOrder(ideas).offset(sql<number>`${$.offset}::bigint`).limit(sql<number>`${$.limit}::bigint`).as('page');
}

/**
 * The condition that an idea of a walk has the tag and matches the search text and the other filters. Looks up the tag
 * with a scalar subquery. PostgreSQL would turn another condition into a join, and read all ideas with the tag.
 */
function matches(
  db: Kysely<Tables>,
  $: ListValues,
  { isFiltered, hasOnlyWords }: Pick<WalkForm, 'isFiltered' | 'hasOnlyWords'>,
) {
  if (hasOnlyWords) return matchesWords($.q);
  const match = taggedWith(db, $)
    .whereRef('it.idea_id', '=', sql.ref('i.id'))
    .select(sql<boolean>`true`.as('is_match'));
  const hasTag = sql<boolean>`(${$.tagId}::bigint = 0 or coalesce(${match}, false))`;
  if (!isFiltered) return hasTag;
  const conditions = [hasTag, sql<boolean>`(${$.q}::text = '' or ${matchesWords($.q)})`, ...filters($)];
  return sql<boolean>`${sql.join(conditions, sql` and `)}`;
}
