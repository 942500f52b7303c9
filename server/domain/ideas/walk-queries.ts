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
  /**
   * The maximum number of matching ideas that the query finds. Null if the page has an offset, or if the reach is long.
   * With this constant, PostgreSQL keeps the plan of a near walk, if a tag or the search text is the only condition.
   * Otherwise it makes a new plan for each call, which takes twice as long as the walk.
   */
  rowsOfMatches: (typeof enoughRows)[number] | null;
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

const asBoolean = (value: Expression<boolean>) => sql<boolean>`${value}::boolean`;

const yesOrNo = [false, true];

/** The columns that the filters of a list compare. */
const filterColumns = ['title_words', 'author_id', 'created_at', 'updated_at'] as const;

/** The limits of a walk up to the end of the page. */
export const wholeWalk = { hasOnlyWords: false, reach: null, rowsOfMatches: null } as const;

/** Reads one page at any offset, without a tag or a search text. */
export const farQueries = queriesOf(
  yesOrNo.flatMap(isPending => yesOrNo.map(isFiltered => ({ isPending, isFiltered, hasCursor: false, ...wholeWalk }))),
  form => {
    const name = nameOf('far_ideas', form);
    return query(name, (db, $: ListValues) => ideasOfPage(db, $, pageOf($, walk(db, $, form))), {
      // A query with filters is not prepared, because its best plan depends on the values of the filters.
      isPrepared: !form.isFiltered,
    });
  },
);

const limitedWalks: Pick<WalkForm, 'reach' | 'rowsOfMatches'>[] = [
  ...enoughRows.map(rowsOfMatches => ({ reach: reaches.near, rowsOfMatches })),
  ...Object.values(reaches).map(reach => ({ reach, rowsOfMatches: null })),
];

const conditions = [
  { isFiltered: false, hasOnlyWords: false },
  { isFiltered: true, hasOnlyWords: false },
  { isFiltered: true, hasOnlyWords: true },
];

const matchForms = limitedWalks.flatMap(limits =>
  conditions.flatMap(condition => yesOrNo.map(hasCursor => ({ isPending: false, hasCursor, ...condition, ...limits }))),
);

/**
 * Reads a list from its beginning or after a cursor. Selects a page of the ideas that match the tag, the search text
 * and the filters.
 */
export const matchQueries = queriesOf(matchForms, form =>
  query(nameOf('match_ideas', form), (db, $: ListValues) => {
    const matching = walk(db, $, form).where(() => matches(db, $, form));
    const { rowsOfMatches } = form;
    const ideas = rowsOfMatches === null ? matching : firstOf(db, matching, rowsOfMatches);
    return ideasOfPage(db, $, pageOf($, ideas));
  }),
);

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

type SampleForm = Pick<WalkForm, 'sort' | 'isFiltered' | 'hasCursor'>;

function sampleOf(form: SampleForm) {
  const condition = { isFiltered: form.isFiltered, hasOnlyWords: false };
  return (db: Kysely<Tables>, $: Arguments<ListArguments & Reader>) =>
    shownStatuses(db, $)
      .innerJoinLateral(
        from =>
          from
            .selectFrom(firstIdeas(db, $, form))
            .select(i => [
              i.fn.countAll<number>().as('read'),
              i.fn
                .countAll<number>()
                .filterWhere(() => matches(db, $, condition))
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

export function keyOfForm(form: WalkForm): string {
  const { sort, isPending, isFiltered, hasOnlyWords, hasCursor, branches, reach, rowsOfMatches } = form;
  const words = [
    sort,
    isPending && 'pending',
    isFiltered && (hasOnlyWords ? 'words' : 'filtered'),
    hasCursor && 'after',
    rowsOfMatches !== null && `first_${rowsOfMatches}`,
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
function walk(db: Kysely<Tables>, $: ListValues, form: WalkForm) {
  const columns = form.reach !== null && form.isFiltered ? filterColumns : [];
  const [first, ...others] = Array.from({ length: form.branches }, (_, index) => {
    const ofStatus = db
      .selectFrom('ideas as i')
      .select(['i.id', keyOf(form).as('key'), ...columns.map(column => `i.${column}` as const)])
      .where('i.status_id', '=', sql<number>`(${$.statusIds}::bigint[])[${sql.lit(index + 1)}]`)
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
  const tagged = db
    .selectFrom('idea_tags as it')
    .where(it => it.and({ 'it.account_id': $.accountId, 'it.tag_id': $.tagId }))
    .whereRef('it.idea_id', '=', sql.ref('i.id'))
    .select(sql<boolean>`true`.as('is_match'));
  const hasTag = sql<boolean>`(${$.tagId}::bigint = 0 or coalesce(${tagged}, false))`;
  if (!isFiltered) return hasTag;
  const conditions = [hasTag, sql<boolean>`(${$.q}::text = '' or ${matchesWords($.q)})`, ...filters($)];
  return sql<boolean>`${sql.join(conditions, sql` and `)}`;
}
