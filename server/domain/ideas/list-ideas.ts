import {
  type AliasedSelectQueryBuilder,
  type Expression,
  type ExpressionBuilder,
  type Kysely,
  type RawBuilder,
  sql,
} from 'kysely';
import { type IdeaSort, ideaSorts } from '../../../contract/idea.ts';
import { type IdeaStatus, type StatusCategory, statusCategories, statusOfCategory } from '../../../contract/status.ts';
import { type Arguments, type Query, query } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { isPublicReader, type ReadOperation } from '../operation.ts';
import { cutPage, type Page, type Place } from '../pagination.ts';
import { type IdeaView, ideaViews } from './read-idea.ts';

export interface IdeaFilter {
  status?: IdeaStatus | undefined;
  statusKey?: string | undefined;
  tagId?: number | undefined;
  authorId?: number | undefined;
  q?: string | undefined;
  createdAfter?: Date | undefined;
  createdBefore?: Date | undefined;
  /** Keeps only ideas that changed at this time or later. */
  updatedSince?: Date | undefined;
  sort: IdeaSort;
  isPending: boolean;
  /** The maximum number of characters of each idea's body. Longer bodies are cut off. */
  maxBodyLength?: number | undefined;
}

/** An idea in a list. body_truncated is true if the list has only the beginning of the body. */
type ListedIdea = IdeaView & { body_truncated: boolean };

/** An idea with the value that the list is sorted by. */
type RankedIdea = ListedIdea & { key: string | number };

export async function listIdeas(op: ReadOperation, filter: IdeaFilter, place: Place): Promise<Page<ListedIdea>> {
  const { accountId, boardId, voterId } = op.actor;
  const { status, sort, isPending, statusKey, tagId, authorId, q = '', maxBodyLength } = filter;
  const { createdAfter, createdBefore, updatedSince } = filter;
  const category = statusCategories.find(one => statusOfCategory[one] === status);
  const form = {
    sort,
    isPending,
    isPublic: isPublicReader(op.actor),
    // An empty search text does not filter the list.
    isFiltered: q !== '' || [authorId, createdAfter, createdBefore, updatedSince].some(one => one !== undefined),
    hasCursor: place.cursor !== undefined,
    rowsOfStatus: place.offset === 0 ? (enoughRows.find(rows => rows > place.perPage) ?? null) : null,
  };
  const values: ListArguments = {
    accountId,
    boardId,
    voterId,
    statusKey: statusKey ?? null,
    category: statusKey === undefined ? (category ?? null) : null,
    tagId: tagId ?? 0,
    offset: place.offset,
    limit: place.perPage + 1,
    q,
    authorId: authorId ?? null,
    createdAfter: createdAfter ?? null,
    createdBefore: createdBefore ?? null,
    updatedSince: updatedSince ?? null,
    maxBodyLength: maxBodyLength ?? null,
    cursorKey: place.cursor?.key ?? '',
    cursorId: place.cursor?.id ?? 0,
  };
  const rows = await (tagId === undefined
    ? readList(op, { ...form, tagged: null }, values)
    : readTagged(op, form, values));
  return cutPage(rows, place, ({ key, id }) => ({ sort, key, id }));
}

/**
 * Reads the ideas with a tag in one of two ways. First it searches only the start of the list, which is fast for a
 * common tag. If the start has too few ideas with the tag, the tag is usually rare. Then it reads all ideas with the
 * tag, which is fast for a rare tag.
 */
async function readTagged(op: ReadOperation, form: Omit<ListForm, 'tagged'>, values: ListArguments) {
  if (form.rowsOfStatus !== null && !form.isPending) {
    const near = await readList(op, { ...form, rowsOfStatus: nearRows, tagged: 'near' }, values);
    if (near.length === values.limit) return near;
  }
  return readList(op, { ...form, rowsOfStatus: null, tagged: 'anywhere' }, values);
}

function readList(op: ReadOperation, form: ListForm, values: ListArguments): Promise<RankedIdea[]> {
  const list = listQueries.get(nameOf(form));
  if (!list) throw new Error(`No query is named ${nameOf(form)}`);
  return op.query(list, values);
}

interface ListForm {
  sort: IdeaFilter['sort'];
  isPending: boolean;
  /**
   * Whether the reader is a visitor. The list then has no ideas in hidden statuses, even if the filter names a hidden
   * status.
   */
  isPublic: boolean;
  /** Whether the list has a search text, or a filter by author or time. */
  isFiltered: boolean;
  hasCursor: boolean;
  /** The maximum number of rows to read in each status. Null if the page has an offset. */
  rowsOfStatus: number | null;
  /**
   * Which ideas the query searches for the tag: the start of the list, or all ideas. Null if the list has no tag
   * filter.
   */
  tagged: 'near' | 'anywhere' | null;
}

/**
 * The values of rowsOfStatus: one more than the default page size, and one more than the maximum page size. They are
 * constants in the SQL text.
 *
 * If the limit were a parameter, PostgreSQL would estimate it as a tenth of the table. PostgreSQL would then make a new
 * plan for each call, and planning took three times as long as the query itself.
 */
const enoughRows = [21, 101] as const;

/**
 * The number of ideas at the start of a list that the server first searches for a tag. If too few of these ideas have
 * the tag, the server reads all ideas with the tag.
 */
const nearRows = 500;

/**
 * The arguments of every list query. A query without a tag, a cursor or other filters ignores the corresponding
 * arguments. A query with filters has null as the argument of each missing filter, and an empty text if there is no
 * search text.
 */
interface ListArguments {
  accountId: number;
  boardId: number;
  voterId: number | null;
  statusKey: string | null;
  category: StatusCategory | null;
  tagId: number;
  offset: number;
  limit: number;
  q: string;
  authorId: number | null;
  createdAfter: Date | null;
  createdBefore: Date | null;
  updatedSince: Date | null;
  maxBodyLength: number | null;
  cursorKey: string | number;
  cursorId: number;
}

const yesOrNo = [false, true];

/**
 * The ways to read a list. One way searches only the start of a list for a tag. Lists of pending ideas do not need this
 * way, because few pending ideas have tags.
 */
const ways: Pick<ListForm, 'isPending' | 'rowsOfStatus' | 'tagged'>[] = [
  ...yesOrNo.flatMap(isPending =>
    [...enoughRows, null].map(rowsOfStatus => ({ isPending, rowsOfStatus, tagged: null })),
  ),
  { isPending: false, rowsOfStatus: nearRows, tagged: 'near' },
  ...yesOrNo.map(isPending => ({ isPending, rowsOfStatus: null, tagged: 'anywhere' as const })),
];

const forms: ListForm[] = ideaSorts.flatMap(sort =>
  ways.flatMap(way =>
    // Builds no list of pending ideas for visitors, because visitors cannot read pending ideas.
    (way.isPending ? [false] : yesOrNo).flatMap(isPublic =>
      yesOrNo.flatMap(isFiltered => yesOrNo.map(hasCursor => ({ ...way, sort, isPublic, isFiltered, hasCursor }))),
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

function nameOf({ sort, isPending, isPublic, isFiltered, hasCursor, rowsOfStatus, tagged }: ListForm): string {
  const words = [
    sort,
    isPending && 'pending',
    isPublic && 'public',
    isFiltered && 'filtered',
    hasCursor && 'after',
    tagged === null ? (rowsOfStatus ?? 'offset') : `tagged_${tagged}`,
  ];
  return ['list_ideas', ...words.filter(word => word !== false)].join('_');
}

function ideasOf(form: ListForm) {
  return (db: Kysely<Tables>, $: Arguments<ListArguments>) => {
    const listed = form.tagged === 'anywhere' ? rowsOfTag(db, $, form) : rowsOfStatuses(db, $, form);
    const page = db
      .selectFrom(listed)
      .select(['listed.id', 'listed.key'])
      .$if(form.tagged === 'near', ideas =>
        ideas.where(listed =>
          listed.exists(taggedWith(db, $).select('it.idea_id').whereRef('it.idea_id', '=', listed.ref('listed.id'))),
        ),
      )
      .orderBy('listed.key', 'desc')
      .orderBy('listed.id', 'desc')
      .offset(sql<number>`${$.offset}::bigint`)
      .limit(sql<number>`${$.limit}::bigint`)
      .as('page');
    return ideaViews(db, $.accountId, $.voterId)
      .select(excerptOf($.maxBodyLength))
      .innerJoin(page, 'page.id', 'i.id')
      .select('page.key')
      .orderBy('page.key', 'desc')
      .orderBy('page.id', 'desc');
  };
}

type ListValues = Arguments<ListArguments>;
type ListedRows = AliasedSelectQueryBuilder<{ id: number; key: string | number }, 'listed'>;

/**
 * Reads the first rows of each shown status from an index in the order of the list, then merges the rows. Without a
 * search, the cost does not grow with the number of ideas. With a cursor, it does not grow with the page number either.
 */
function rowsOfStatuses(db: Kysely<Tables>, $: ListValues, form: ListForm): ListedRows {
  return (
    db
      .selectFrom('statuses as shown')
      .where(shown => isShown(shown, $, form))
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
      // Keeps only the first rows of all statuses together. Among later rows, ideas may be missing, because the query
      // reads only a limited number of rows in each status.
      .$if(form.tagged === 'near', merged =>
        merged.orderBy('of_status.key', 'desc').orderBy('of_status.id', 'desc').limit(nearRows),
      )
      .as('listed')
  );
}

/**
 * Reads all ideas with a tag one by one by their ids. With a plain join, PostgreSQL reads the index of the whole board
 * if a hundredth of the board's ideas have the tag.
 */
function rowsOfTag(db: Kysely<Tables>, $: ListValues, form: ListForm): ListedRows {
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
    .where(shown => isShown(shown, $, form))
    .select(['tagged.id', 'tagged.key'])
    .as('listed');
}

function taggedWith(db: Kysely<Tables>, $: ListValues) {
  return db.selectFrom('idea_tags as it').where(it => it.and({ 'it.account_id': $.accountId, 'it.tag_id': $.tagId }));
}

const keys: Record<IdeaSort, RawBuilder<string | number>> = {
  newest: sql.ref('i.created_at'),
  top: sql.ref('i.score'),
  updated: sql.ref('i.updated_at'),
  comments: sql.ref('i.comment_count'),
  trending: sql`idea_trend(i.score, i.created_at)`,
};

function keyOf({ sort }: ListForm) {
  return keys[sort];
}

function isShown(
  shown: ExpressionBuilder<Tables & { shown: Tables['statuses'] }, 'shown'>,
  $: ListValues,
  { isPending, isPublic }: ListForm,
) {
  const isWanted = shown
    .case()
    .when(sql`${$.statusKey}::text`, 'is not', null)
    .then(shown('shown.key', '=', $.statusKey))
    .when(sql`${$.category}::text`, 'is not', null)
    .then(shown('shown.category', '=', $.category))
    .else(isPending ? shown.lit(true) : shown.not('shown.is_hidden'))
    .end();
  const ofBoard = shown.and({ 'shown.account_id': $.accountId, 'shown.board_id': $.boardId });
  return shown.and([ofBoard, isWanted, ...(isPublic ? [shown('shown.is_hidden', '=', false)] : [])]);
}

function isListed(i: ExpressionBuilder<Tables & { i: Tables['ideas'] }, 'i'>, $: ListValues, form: ListForm) {
  return i.and([
    i('i.account_id', '=', $.accountId),
    i('i.moderation_state', '=', form.isPending ? 'pending' : 'published'),
    ...(form.isPending ? [] : [i('i.merged_into_id', 'is', null)]),
    ...(form.isFiltered ? filters($) : []),
    ...(form.hasCursor ? [sql<boolean>`(${keyOf(form)}, i.id) < (${$.cursorKey}, ${$.cursorId})`] : []),
  ]);
}

/** The conditions of the filters that are not null, and of the search text if it is not empty. */
function filters($: ListValues): Expression<boolean>[] {
  return [
    sql`(${$.q}::text = '' or ${hasWords($.q)})`,
    sql`(${$.authorId}::bigint is null or i.author_id = ${$.authorId})`,
    sql`(${$.createdAfter}::timestamptz is null or i.created_at > ${$.createdAfter})`,
    sql`(${$.createdBefore}::timestamptz is null or i.created_at < ${$.createdBefore})`,
    sql`(${$.updatedSince}::timestamptz is null or i.updated_at >= ${$.updatedSince})`,
  ];
}

/**
 * Selects the beginning of an idea's body, or the whole body if the maximum length is null. The idea has the SQL alias
 * `i`. Compares the lengths in bytes, because PostgreSQL knows the length of a long body in bytes without reading the
 * body.
 */
export function excerptOf(maxLength: Expression<number | null>) {
  const excerpt = sql<string>`left(i.body, ${maxLength}::int)`;
  return [
    sql<string>`coalesce(${excerpt}, i.body)`.as('body'),
    sql<boolean>`coalesce(octet_length(i.body) > octet_length(${excerpt}), false)`.as('body_truncated'),
  ] as const;
}

/**
 * Finds ideas whose titles contain all words of the search. The index finds ideas by the long words, and then
 * ts_match_vq compares the found ideas with all words. The operator @@ may use the index, but the function ts_match_vq
 * never uses it.
 */
function hasWords(q: Expression<string>) {
  return sql<boolean>`i.title_words @@ index_words_query(${q})
    and (index_words_query(${q}) = words_query(${q}) or ts_match_vq(i.title_words, words_query(${q})))`;
}
