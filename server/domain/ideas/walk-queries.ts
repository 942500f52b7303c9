import { type Expression, type Kysely, sql } from 'kysely';
import { ideaSorts } from '../../../contract/idea.ts';
import { type Arguments, query } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { enoughRows, ideasOfPage, isListed, keyOf, type ListValues, taggedWith } from './list-queries.ts';
import {
  filterColumns,
  firstOf,
  matches,
  nameOf,
  pageOf,
  queriesOf,
  reaches,
  type StatusArguments,
  shownStatuses,
  type WalkArguments,
  type WalkForm,
  type WalkValues,
  walk,
  yesOrNo,
} from './walk.ts';

/** The form of the query that reads the first page of a list with a tag or a search text. */
export interface FirstForm extends WalkForm {
  /**
   * The maximum number of ideas of the page. With this constant, PostgreSQL keeps the plan if a tag or the search text
   * is the only condition. Otherwise it makes a new plan for each call, which takes twice as long as the walk.
   */
  rows: (typeof enoughRows)[number];
}

/** Selects the ids of the shown statuses. */
export const selectShownStatuses = query('select_shown_statuses', (db, $: Arguments<StatusArguments>) =>
  shownStatuses(db, $).select('shown.id'),
);

/** Reads one page at any offset, without a tag or a search text. */
export const farQueries = queriesOf(
  yesOrNo.flatMap(isPending =>
    (['tag', 'all'] as const).map(conditions => ({ isPending, conditions, hasCursor: false, reach: null })),
  ),
  form => {
    const name = nameOf('far_ideas', form);
    return query(name, (db, $: WalkValues) => ideasOfPage(db, $, pageOf($, walk(db, $, form))), {
      // A query with filters is not prepared, because its best plan depends on the values of the filters.
      isPrepared: form.conditions !== 'all',
    });
  },
);

const matchForms = (['tag', 'words', 'all'] as const).flatMap(conditions =>
  yesOrNo.map(hasCursor => ({ isPending: false, hasCursor, conditions })),
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
          walk(db, $, form).where(() => matches(db, $, form.conditions)),
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
  const hasOnlyTag = form.conditions === 'tag';
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
    walk(db, $, form, statusIds).where(() => matches(db, $, form.conditions)),
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
        .where(i => isListed(i, $, { ...form, isFiltered: false }))
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

interface SampleForm extends Pick<WalkForm, 'sort' | 'hasCursor'> {
  /** Whether the list has a search text or filters. */
  isFiltered: boolean;
}

function sampleOf(form: SampleForm) {
  const conditions = form.isFiltered ? 'all' : 'tag';
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
                .filterWhere(() => sql`${$.countsMatches}::boolean and ${matches(db, $, conditions)}`)
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
