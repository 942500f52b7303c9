import { type Expression, type Kysely, sql } from 'kysely';
import { type IdeaStatus, type StatusCategory, statusCategories, statusOfCategory } from '../../../contract/status.ts';
import { type Arguments, type Query, query } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { isPublicReader, type ReadOperation } from '../operation.ts';
import { type Cursor, cutPage, type Page, type Place } from '../pagination.ts';
import { type IdeaView, ideaViews } from './read-idea.ts';

export interface IdeaFilter {
  status?: IdeaStatus | undefined;
  statusKey?: string | undefined;
  q?: string | undefined;
  sort: 'newest' | 'top';
  isPending: boolean;
  /** Cuts each body to this number of characters. */
  maxBodyLength?: number | undefined;
}

/** An idea of a list. body_truncated tells whether the list has only the beginning of the body. */
type ListedIdea = IdeaView & { body_truncated: boolean };

export async function listIdeas(op: ReadOperation, filter: IdeaFilter, place: Place): Promise<Page<ListedIdea>> {
  const { accountId, boardId, voterId } = op.actor;
  const { status, sort, isPending, statusKey, q = '', maxBodyLength } = filter;
  const category = statusCategories.find(one => statusOfCategory[one] === status);
  const form = {
    sort,
    isPending,
    isPublic: isPublicReader(op.actor),
    // An empty search text does not filter.
    isSearch: q !== '',
    hasCursor: place.cursor !== undefined,
    rowsOfStatus: place.offset === 0 ? (enoughRows.find(rows => rows > place.perPage) ?? null) : null,
  };
  const list = listQueries.get(nameOf(form));
  if (!list) throw new Error(`No query is named ${nameOf(form)}`);
  const rows = await op.query(list, {
    accountId,
    boardId,
    voterId,
    statusKey: statusKey ?? null,
    category: statusKey === undefined ? (category ?? null) : null,
    offset: place.offset,
    limit: place.perPage + 1,
    q,
    maxBodyLength: maxBodyLength ?? null,
    cursorKey: place.cursor?.key ?? '',
    cursorId: place.cursor?.id ?? 0,
  });
  return cutPage(rows, place, idea => cursorOf(sort, idea));
}

function cursorOf(sort: IdeaFilter['sort'], idea: IdeaView): Cursor {
  return { sort, key: sort === 'newest' ? idea.created_at : idea.score, id: idea.id };
}

interface ListForm {
  sort: IdeaFilter['sort'];
  isPending: boolean;
  /**
   * Whether the reader is a visitor. The list then has no ideas in hidden statuses, even if the filter names a hidden
   * status.
   */
  isPublic: boolean;
  isSearch: boolean;
  hasCursor: boolean;
  /** The maximum number of rows to read for each status, or null if the page has an offset. */
  rowsOfStatus: number | null;
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
 * The arguments of every list query. Queries without a cursor or a search ignore the arguments for the cursor or the
 * search.
 */
interface ListArguments {
  accountId: number;
  boardId: number;
  voterId: number | null;
  statusKey: string | null;
  category: StatusCategory | null;
  offset: number;
  limit: number;
  q: string;
  maxBodyLength: number | null;
  cursorKey: string | number;
  cursorId: number;
}

const yesOrNo = [false, true];

const forms: ListForm[] = (['newest', 'top'] as const).flatMap(sort =>
  yesOrNo.flatMap(isPending =>
    yesOrNo.flatMap(isPublic =>
      yesOrNo.flatMap(isSearch =>
        yesOrNo.flatMap(hasCursor =>
          [...enoughRows, null].map(rowsOfStatus => ({ sort, isPending, isPublic, isSearch, hasCursor, rowsOfStatus })),
        ),
      ),
    ),
  ),
);

const listQueries = new Map<string, Query<ListArguments, ListedIdea>>(
  forms.map(form => {
    const name = nameOf(form);
    // A search is not a prepared statement, because its best plan depends on the word. A rare word needs the index of
    // words. A common word needs the index that has the order of the list.
    return [name, query(name, ideasOf(form), { isPrepared: !form.isSearch })];
  }),
);

function nameOf({ sort, isPending, isPublic, isSearch, hasCursor, rowsOfStatus }: ListForm): string {
  const words = [
    sort,
    isPending && 'pending',
    isPublic && 'public',
    isSearch && 'search',
    hasCursor && 'after',
    rowsOfStatus ?? 'offset',
  ];
  return ['list_ideas', ...words.filter(word => word !== false)].join('_');
}

/**
 * Reads the first rows of each shown status from an index in the order of the list, then merges the rows. Without a
 * search, the cost does not grow with the number of ideas. With a cursor, it does not grow with the page number either.
 */
function ideasOf({ sort, isPending, isPublic, isSearch, hasCursor, rowsOfStatus }: ListForm) {
  return (db: Kysely<Tables>, $: Arguments<ListArguments>) => {
    const key = sort === 'newest' ? 'i.created_at' : 'i.score';
    const page = db
      .selectFrom('statuses as shown')
      .crossJoinLateral(from =>
        from
          .selectFrom('ideas as i')
          .select(['i.id', `${key} as key`])
          .where('i.account_id', '=', $.accountId)
          .whereRef('i.status_id', '=', 'shown.id')
          .where('i.moderation_state', '=', isPending ? 'pending' : 'published')
          .$if(!isPending, ideas => ideas.where('i.merged_into_id', 'is', null))
          .$if(isSearch, ideas => ideas.where(hasWords($.q)))
          .$if(hasCursor, ideas => ideas.where(sql<boolean>`(${sql.ref(key)}, i.id) < (${$.cursorKey}, ${$.cursorId})`))
          .orderBy(key, 'desc')
          .orderBy('i.id', 'desc')
          .limit(rowsOfStatus ?? sql<number>`${$.offset}::bigint + ${$.limit}::bigint`)
          .as('of_status'),
      )
      .select(['of_status.id', 'of_status.key'])
      .where(shown => shown.and({ 'shown.account_id': $.accountId, 'shown.board_id': $.boardId }))
      .where(shown =>
        shown
          .case()
          .when(sql`${$.statusKey}::text`, 'is not', null)
          .then(shown('shown.key', '=', $.statusKey))
          .when(sql`${$.category}::text`, 'is not', null)
          .then(shown('shown.category', '=', $.category))
          .else(isPending ? shown.lit(true) : shown.not('shown.is_hidden'))
          .end(),
      )
      .$if(isPublic, shown => shown.where('shown.is_hidden', '=', false))
      .orderBy('of_status.key', 'desc')
      .orderBy('of_status.id', 'desc')
      .offset(sql<number>`${$.offset}::bigint`)
      .limit(sql<number>`${$.limit}::bigint`)
      .as('page');
    return ideaViews(db, $.accountId, $.voterId)
      .select(excerptOf($.maxBodyLength))
      .innerJoin(page, 'page.id', 'i.id')
      .orderBy('page.key', 'desc')
      .orderBy('page.id', 'desc');
  };
}

/**
 * Selects the beginning of the body of an idea i, or the whole body if the maximum length is null. Compares the lengths
 * in bytes, because PostgreSQL knows the length of a long body in bytes without reading the body.
 */
function excerptOf(maxLength: Expression<number | null>) {
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
