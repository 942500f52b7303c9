import { type Expression, type Kysely, sql } from 'kysely';
import { ideaSorts } from '../../../contract/idea.ts';
import { maxStatusesOfBoard } from '../../../contract/limits.ts';
import { type Arguments, query } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import {
  filters,
  ideasOfPage,
  isListed,
  isShown,
  keyOf,
  type ListArguments,
  type ListForm,
  type ListValues,
  matchesWords,
} from './list-queries.ts';

/**
 * These queries read a list in its order, and skip ideas without reading their rows. Each shown status has an index in
 * the order of the list. PostgreSQL merges the indexes, so it stops at the end of the page.
 *
 * The merge has one branch for each status. A constant number of branches keeps the SQL text constant. Branches without
 * a status find no ideas.
 */
export interface WalkForm extends Pick<ListForm, 'sort' | 'isPending' | 'isFiltered' | 'hasCursor'> {
  branches: (typeof branchCounts)[number];
  /** The maximum number of ideas that the query reads. Null if the query reads up to the end of the page. */
  reach: number | null;
}

export const branchCounts = [8, maxStatusesOfBoard] as const;

/**
 * The values of `reach`. They are constants in the SQL text, because PostgreSQL plans badly if it does not know such a
 * limit.
 */
export const reaches = { near: 500, deep: 20_000, far: 200_000 } as const;

/**
 * A board with at most this number of ideas is small. A query with the reach `near` reads the whole list of a small
 * board, even if clients create some ideas in the meantime.
 */
const smallBoard = reaches.near - 100;

/** Selects the ids of the shown statuses. Each row also tells whether the board is small. */
export const selectShownStatuses = query(
  'select_shown_statuses',
  (db, $: Arguments<Pick<ListArguments, 'accountId' | 'boardId' | 'statusKey' | 'category'> & Reader>) => {
    const firstIdeas = db
      .selectFrom('ideas as i')
      .where(i => i.and({ 'i.account_id': $.accountId, 'i.board_id': $.boardId }))
      .select('i.status_id')
      .limit(sql.lit(smallBoard + 1))
      .as('first_ideas');
    return db
      .selectFrom('statuses as shown')
      .where(shown => isShown(shown, $, { isPending: asBoolean($.isPending), isPublic: asBoolean($.isPublic) }))
      .select([
        'shown.id',
        db
          .selectFrom(firstIdeas)
          .select(sql<boolean>`count(*) <= ${sql.lit(smallBoard)}`.as('is_small'))
          .$asScalar()
          .as('is_small'),
      ]);
  },
);

interface Reader {
  isPending: boolean;
  isPublic: boolean;
}

const asBoolean = (value: Expression<boolean>) => sql<boolean>`${value}::boolean`;

const yesOrNo = [false, true];

/** Reads one page at any offset, without a tag or a search text. */
export const farQueries = queriesOf(
  yesOrNo.flatMap(isPending => yesOrNo.map(isFiltered => ({ isPending, isFiltered, hasCursor: false, reach: null }))),
  form => {
    const name = nameOf('far_ideas', form);
    return query(name, (db, $: ListValues) => ideasOfPage(db, $, pageOf($, walk(db, $, form))), {
      // A query with filters is not prepared, because its best plan depends on the values of the filters.
      isPrepared: !form.isFiltered,
    });
  },
);

const matchForms = Object.values(reaches).flatMap(reach =>
  yesOrNo.map(hasCursor => ({ isPending: false, isFiltered: false, hasCursor, reach })),
);

/**
 * Reads a list from its beginning or after a cursor. Selects a page of the ideas that match the tag, the search text
 * and the filters.
 */
export const matchQueries = queriesOf(matchForms, form =>
  query(nameOf('match_ideas', form), (db, $: ListValues) =>
    ideasOfPage(
      db,
      $,
      pageOf(
        $,
        walk(db, $, form).where(() => matches(db, $)),
      ),
    ),
  ),
);

/** Counts the matching ideas among the first `reaches.near` ideas of a list. */
export const sampleQueries = queriesOf(
  matchForms.filter(({ hasCursor, reach }) => !hasCursor && reach === reaches.near),
  form =>
    query(nameOf('sample_ideas', form), (db, $: ListValues) =>
      db
        .selectFrom(
          walk(db, $, form)
            .where(() => matches(db, $))
            .as('sample'),
        )
        .select(sql<number>`count(*)`.as('found')),
    ),
);

function queriesOf<Form extends Omit<WalkForm, 'sort' | 'branches'>, Made>(
  ways: Form[],
  make: (form: Form & WalkForm) => Made,
): Map<string, Made> {
  const forms = ideaSorts.flatMap(sort =>
    branchCounts.flatMap(branches => ways.map(way => ({ ...way, sort, branches }))),
  );
  return new Map(forms.map(form => [keyOfForm(form), make(form)]));
}

export function keyOfForm({ sort, isPending, isFiltered, hasCursor, branches, reach }: WalkForm): string {
  const words = [
    sort,
    isPending && 'pending',
    isFiltered && 'filtered',
    hasCursor && 'after',
    reach !== null && `to_${reach}`,
    `of_${branches}`,
  ];
  return words.filter(word => word !== false).join('_');
}

function nameOf(kind: string, form: WalkForm) {
  return `${kind}_${keyOfForm(form)}`;
}

function walk(db: Kysely<Tables>, $: ListValues, form: WalkForm) {
  const [first, ...others] = Array.from({ length: form.branches }, (_, index) => {
    const ofStatus = db
      .selectFrom('ideas as i')
      .select(['i.id', keyOf(form).as('key')])
      .where('i.status_id', '=', sql<number>`(${$.statusIds}::bigint[])[${sql.lit(index + 1)}]`)
      .where(i => isListed(i, $, form))
      .orderBy(keyOf(form), 'desc')
      .orderBy('i.id', 'desc')
      .limit(form.reach ?? sql<number>`${$.offset}::bigint + ${$.limit}::bigint`)
      .as('of_status');
    return db.selectFrom(ofStatus).select(['of_status.id', 'of_status.key']);
  });
  if (!first) throw new Error('A walk needs a branch.');
  const merged = others.reduce((union, other) => union.unionAll(other), first);
  const walked = db
    .selectFrom(merged.as('merged'))
    .select(['merged.id', 'merged.key'])
    .orderBy('merged.key', 'desc')
    .orderBy('merged.id', 'desc')
    .$if(form.reach !== null, ideas => ideas.limit(sql.lit(form.reach ?? 0)))
    .as('walked');
  return db.selectFrom(walked).select(['walked.id', 'walked.key']);
}

function pageOf($: ListValues, ideas: ReturnType<typeof walk>) {
  return ideas
    .orderBy('walked.key', 'desc')
    .orderBy('walked.id', 'desc')
    .offset(sql<number>`${$.offset}::bigint`)
    .limit(sql<number>`${$.limit}::bigint`)
    .as('page');
}

/**
 * The condition that an idea has the tag and matches the search text and the other filters. Reads each idea with a
 * scalar subquery. PostgreSQL would turn other conditions into a join, and read all ideas with the tag.
 */
function matches(db: Kysely<Tables>, $: ListValues) {
  const tagged = db
    .selectFrom('idea_tags as it')
    .where(it => it.and({ 'it.account_id': $.accountId, 'it.tag_id': $.tagId }))
    .whereRef('it.idea_id', '=', sql.ref('walked.id'))
    .select(sql<boolean>`true`.as('is_match'));
  const filtered = db
    .selectFrom('ideas as i')
    .where('i.account_id', '=', $.accountId)
    .whereRef('i.id', '=', sql.ref('walked.id'))
    .select(i =>
      i.and([sql<boolean>`(${$.q}::text = '' or ${matchesWords($.q)})`, ...(filters($) as never[])]).as('is_match'),
    );
  return sql<boolean>`coalesce(
    (${$.tagId}::bigint = 0 or ${tagged}) and (not ${$.hasIdeaFilter}::boolean or ${filtered}), false
  )`;
}
