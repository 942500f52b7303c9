import {
  type AliasedSelectQueryBuilder,
  type Expression,
  type ExpressionBuilder,
  type Kysely,
  type RawBuilder,
  sql,
} from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import { type IdeaSort, ideaSorts } from '../../../contract/idea.ts';
import type { StatusCategory } from '../../../contract/status.ts';
import { type Arguments, type Query, query } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { excerptOf, type IdeaView, ideaViewsWithoutTags, tagIdsOf, tagsOf } from './read-idea.ts';

/** An idea in a list. body_truncated is true if the list has only the beginning of the body. */
export type ListedIdea = IdeaView & { body_truncated: boolean };

/**
 * An idea with the value that the list is sorted by. If the caller of the list knows the tags of the board, `tags` is
 * null. Otherwise `tag_ids` is null.
 */
export interface RankedIdea extends Omit<ListedIdea, 'tags'> {
  tags: ListedIdea['tags'] | null;
  tag_ids: number[] | null;
  key: string | number;
}

export interface ListForm {
  sort: IdeaSort;
  isPending: boolean;
  /**
   * Whether the reader is a visitor. The list then has no ideas in hidden statuses, even if the filter names a hidden
   * status.
   */
  isPublic: boolean;
  /** Whether the list has a search text, or a filter by author or time. */
  isFiltered: boolean;
  hasCursor: boolean;
  /** The maximum number of rows to read in each status. Null if more rows are needed than `enoughRows` has. */
  rowsOfStatus: number | null;
  /** The filter whose index finds the ideas. Null if the list reads each status in the order of the list. */
  index: 'tag' | 'words' | null;
}

/**
 * The values of rowsOfStatus: one more than the default page size, and one more than the maximum page size. They are
 * constants in the SQL text.
 *
 * If the limit were a parameter, PostgreSQL would estimate it as a tenth of the table. PostgreSQL would then make a new
 * plan for each call, and planning took three times as long as the query itself.
 */
export const enoughRows = [21, 101] as const;

/**
 * The arguments of every list query. A query without a tag, a cursor or other filters ignores the corresponding
 * arguments. A query with filters has null as the argument of each missing filter, and an empty text if there is no
 * search text.
 */
export interface ListArguments {
  accountId: number;
  boardId: number;
  voterId: number | null;
  statusKey: string | null;
  category: StatusCategory | null;
  /** The ids of the shown statuses, for walks through the list and for searches with the index of words. */
  statusIds: readonly number[];
  tagId: number;
  offset: number;
  limit: number;
  q: string;
  /** The words of the search to look up in the index. Null to choose them by their length. */
  indexWords: readonly string[] | null;
  authorId: number | null;
  createdAfter: Date | null;
  createdBefore: Date | null;
  updatedSince: Date | null;
  maxBodyLength: number | null;
  /** Whether the caller knows the tags of the board. */
  hasTagsOfBoard: boolean;
  cursorKey: string | number;
  cursorId: number;
}

const yesOrNo = [false, true];

const ways: Pick<ListForm, 'isPending' | 'rowsOfStatus' | 'index'>[] = yesOrNo.flatMap(isPending => [
  ...[...enoughRows, null].map(rowsOfStatus => ({ isPending, rowsOfStatus, index: null })),
  { isPending, rowsOfStatus: null, index: 'tag' },
  ...(isPending ? [] : [{ isPending, rowsOfStatus: null, index: 'words' } as const]),
]);

const forms: ListForm[] = ideaSorts.flatMap(sort =>
  ways.flatMap(way =>
    // Builds no list of pending ideas for visitors, because visitors cannot read pending ideas.
    (way.isPending ? [false] : yesOrNo).flatMap(isPublic =>
      (way.index === 'words' ? [true] : yesOrNo).flatMap(isFiltered =>
        yesOrNo.map(hasCursor => ({ ...way, sort, isPublic, isFiltered, hasCursor })),
      ),
    ),
  ),
);

const listQueries = new Map<string, Query<ListArguments, RankedIdea>>(
  forms.map(form => {
    const name = nameOf(form);
    // A filtered list is not a prepared statement, because its best plan depends on the values. A rare word needs the
    // index of words. A common word needs the index that has the order of the list. PostgreSQL also removes the
    // conditions of missing filters, because it knows that their values are null.
    return [name, query(name, ideasOf(form), { isPrepared: !form.isFiltered })];
  }),
);

export function listQueryOf(form: ListForm): Query<ListArguments, RankedIdea> {
  const name = nameOf(form);
  const list = listQueries.get(name);
  if (!list) throw new Error(`No query is named ${name}`);
  return list;
}

function nameOf({ sort, isPending, isPublic, isFiltered, hasCursor, rowsOfStatus, index }: ListForm): string {
  const words = [
    sort,
    isPending && 'pending',
    isPublic && 'public',
    isFiltered && 'filtered',
    hasCursor && 'after',
    index === null ? (rowsOfStatus ?? 'offset') : `by_${index}`,
  ];
  return ['list_ideas', ...words.filter(word => word !== false)].join('_');
}

function ideasOf(form: ListForm) {
  return (db: Kysely<Tables>, $: ListValues) => {
    const listed = rowsBy[form.index ?? 'status'](db, $, form);
    const { rowsOfStatus } = form;
    // With the constant limit, PostgreSQL expects few rows, and keeps the plan.
    const first = rowsOfStatus === null ? listed : inOrder(db, listed).limit(sql.lit(rowsOfStatus)).as('listed');
    const page = inOrder(db, first)
      .offset(sql<number>`${$.offset}::bigint`)
      .limit(sql<number>`${$.limit}::bigint`)
      .as('page');
    // Visitors have no votes. With the constant null, PostgreSQL does not look for their votes.
    return ideasOfPage(db, $, page, form.isPublic ? sql<null>`null::bigint` : $.voterId);
  };
}

function inOrder(db: Kysely<Tables>, listed: RankedRows<'listed'>) {
  return db
    .selectFrom(listed)
    .select(['listed.id', 'listed.key'])
    .orderBy('listed.key', 'desc')
    .orderBy('listed.id', 'desc');
}

/**
 * Reads the ideas of a page in the order of the list. With the tags of the board, reads only the ids of the ideas' tags,
 * which takes a sixth less time.
 */
export function ideasOfPage(
  db: Kysely<Tables>,
  $: ListValues,
  page: RankedRows<'page'>,
  voterId: Expression<number | null> = $.voterId,
) {
  const hasTagsOfBoard = sql<boolean>`${$.hasTagsOfBoard}::boolean`;
  const tags = jsonArrayFrom(tagsOf(db, $.accountId));
  const tagIds = sql<number[]>`(select coalesce(json_agg(tag_id), '[]') from ${tagIdsOf(db, $.accountId)} ids)`;
  return ideaViewsWithoutTags(db, $.accountId, voterId)
    .select(excerptOf($.maxBodyLength))
    .select(i => [
      i.case().when(hasTagsOfBoard).then(null).else(tags).end().as('tags'),
      i.case().when(hasTagsOfBoard).then(tagIds).else(null).end().as('tag_ids'),
    ])
    .innerJoin(page, 'page.id', 'i.id')
    .select('page.key')
    .orderBy('page.key', 'desc')
    .orderBy('page.id', 'desc');
}

export type ListValues = Arguments<ListArguments>;
export type RankedRows<Alias extends string> = AliasedSelectQueryBuilder<{ id: number; key: string | number }, Alias>;

/**
 * Reads the first rows of each shown status from an index in the order of the list, then merges the rows. Without a
 * search, the cost does not grow with the number of ideas. With a cursor, it does not grow with the page number either.
 */
function rowsOfStatuses(db: Kysely<Tables>, $: ListValues, form: ListForm): RankedRows<'listed'> {
  return db
    .selectFrom('statuses as shown')
    .where(shown => isShown(shown, $, constantsOf(form)))
    .crossJoinLateral(from =>
      from
        .selectFrom('ideas as i')
        .select(['i.id', keyOf(form).as('key')])
        .whereRef('i.status_id', '=', 'shown.id')
        .where(i => isListed(i, $, form))
        .orderBy(keyOf(form), 'desc')
        .orderBy('i.id', 'desc')
        .limit(form.rowsOfStatus ?? sql<number>`${$.offset}::bigint + ${$.limit}::bigint`)
        .as('of_status'),
    )
    .select(['of_status.id', 'of_status.key'])
    .as('listed');
}

/**
 * Reads all ideas with a tag one by one by their ids. With a plain join, PostgreSQL reads the index of the whole board
 * if a hundredth of the board's ideas have the tag.
 */
function rowsOfTag(db: Kysely<Tables>, $: ListValues, form: ListForm): RankedRows<'listed'> {
  return taggedWith(db, $)
    .crossJoinLateral(from =>
      from
        .selectFrom('ideas as i')
        .select(['i.id', 'i.status_id', keyOf(form).as('key')])
        .whereRef('i.id', '=', 'it.idea_id')
        .where(i => isListed(i, $, form))
        .limit(1)
        .as('tagged'),
    )
    .innerJoin('statuses as shown', 'shown.id', 'tagged.status_id')
    .where(shown => isShown(shown, $, constantsOf(form)))
    .select(['tagged.id', 'tagged.key'])
    .as('listed');
}

/**
 * Reads all ideas of the shown statuses that match the search text. If each status had a search of its own, PostgreSQL
 * would look up the words again for each status.
 */
function rowsOfWords(db: Kysely<Tables>, $: ListValues, form: ListForm): RankedRows<'listed'> {
  return db
    .selectFrom('ideas as i')
    .where(i => i('i.status_id', '=', i.fn.any($.statusIds)))
    .where(i => isListed(i, $, form))
    .select(['i.id', keyOf(form).as('key')])
    .as('listed');
}

const rowsBy = { status: rowsOfStatuses, tag: rowsOfTag, words: rowsOfWords };

/** Selects the ideas that have the tag. The SQL alias is `it`. */
export function taggedWith(db: Kysely<Tables>, $: ListValues) {
  return db.selectFrom('idea_tags as it').where(it => it.and({ 'it.account_id': $.accountId, 'it.tag_id': $.tagId }));
}

const keys: Record<IdeaSort, RawBuilder<string | number>> = {
  newest: sql.ref('i.created_at'),
  top: sql.ref('i.score'),
  updated: sql.ref('i.updated_at'),
  comments: sql.ref('i.comment_count'),
  trending: sql`idea_trend(i.score, i.created_at)`,
};

export function keyOf({ sort }: Pick<ListForm, 'sort'>) {
  return keys[sort];
}

/** The condition that the list contains the ideas with this status. The SQL alias of the status is `shown`. */
export function isShown(
  shown: ExpressionBuilder<Tables & { shown: Tables['statuses'] }, 'shown'>,
  $: Pick<ListValues, 'accountId' | 'boardId' | 'statusKey' | 'category'>,
  { isPending, isPublic }: { isPending: Expression<boolean>; isPublic: Expression<boolean> },
) {
  const isWanted = shown
    .case()
    .when(sql`${$.statusKey}::text`, 'is not', null)
    .then(shown('shown.key', '=', $.statusKey))
    .when(sql`${$.category}::text`, 'is not', null)
    .then(shown('shown.category', '=', $.category))
    .else(shown.or([isPending, shown.not('shown.is_hidden')]))
    .end();
  return shown.and([
    shown.and({ 'shown.account_id': $.accountId, 'shown.board_id': $.boardId }),
    isWanted,
    shown.or([shown.not(isPublic), shown.not('shown.is_hidden')]),
  ]);
}

function constantsOf({ isPending, isPublic }: ListForm) {
  return { isPending: sql.lit(isPending), isPublic: sql.lit(isPublic) };
}

/** The condition that an idea of a shown status is in the list. */
export function isListed(
  i: ExpressionBuilder<Tables & { i: Tables['ideas'] }, 'i'>,
  $: ListValues,
  form: Pick<ListForm, 'sort' | 'isPending' | 'isFiltered' | 'hasCursor'>,
) {
  return i.and([
    i('i.account_id', '=', $.accountId),
    i('i.moderation_state', '=', form.isPending ? 'pending' : 'published'),
    ...(form.isPending ? [] : [i('i.merged_into_id', 'is', null)]),
    ...(form.isFiltered ? [sql<boolean>`(${$.q}::text = '' or ${hasWords($)})`, ...filters($)] : []),
    ...(form.hasCursor ? [sql<boolean>`(${keyOf(form)}, i.id) < (${$.cursorKey}, ${$.cursorId})`] : []),
  ]);
}

/** The conditions of the filters that are not null, except the search text. */
export function filters($: ListValues): Expression<boolean>[] {
  return [
    sql`(${$.authorId}::bigint is null or i.author_id = ${$.authorId})`,
    sql`(${$.createdAfter}::timestamptz is null or i.created_at > ${$.createdAfter})`,
    sql`(${$.createdBefore}::timestamptz is null or i.created_at < ${$.createdBefore})`,
    sql`(${$.updatedSince}::timestamptz is null or i.updated_at >= ${$.updatedSince})`,
  ];
}

/**
 * Finds ideas whose titles contain all words of the search. The index finds ideas by some of the words, and then
 * ts_match_vq compares the found ideas with all words. The operator @@ may use the index, but the function ts_match_vq
 * never uses it.
 */
function hasWords({ q, indexWords }: ListValues) {
  const indexQuery = sql`coalesce(prefix_query(${indexWords}::text[]), index_words_query(${q}))`;
  return sql<boolean>`i.title_words @@ ${indexQuery}
    and (${indexQuery} = words_query(${q}) or ts_match_vq(i.title_words, words_query(${q})))`;
}

/** The condition that the title of an idea contains all words of the search. The subquery runs only once. */
export function matchesWords(q: Expression<string>) {
  return sql<boolean>`ts_match_vq(i.title_words, (select words_query(${q})))`;
}
