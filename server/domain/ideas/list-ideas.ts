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
}

/** Lists the published or the pending ideas of the reader's board. */
export async function listIdeas(op: ReadOperation, filter: IdeaFilter, place: Place): Promise<Page<IdeaView>> {
  const { accountId, boardId, voterId } = op.actor;
  const { status, sort, isPending, statusKey, q } = filter;
  const category = statusCategories.find(one => statusOfCategory[one] === status);
  const form = {
    sort,
    isPending,
    isPublic: isPublicReader(op.actor),
    isSearch: q !== undefined,
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
    q: q ?? '',
    cursorKey: place.cursor?.key ?? '',
    cursorId: place.cursor?.id ?? 0,
  });
  return cutPage(rows, place, idea => cursorOf(sort, idea));
}

function cursorOf(sort: IdeaFilter['sort'], idea: IdeaView): Cursor {
  return { sort, key: sort === 'newest' ? idea.created_at : idea.score, id: idea.id };
}

/** The choices that change the text of the query. */
interface ListForm {
  sort: IdeaFilter['sort'];
  isPending: boolean;
  /** Never shows hidden statuses, not even when the filter names one. */
  isPublic: boolean;
  isSearch: boolean;
  hasCursor: boolean;
  /** The number of rows of each status that is enough for the page; null for a page with an offset. */
  rowsOfStatus: number | null;
}

/**
 * One row more than the default page and than the largest page. These limits are constants in the text. PostgreSQL
 * estimates a parameter as a tenth of the table. It then rejects the generic plan and plans each call, which took three
 * times as long as the list.
 */
const enoughRows = [21, 101] as const;

/** The arguments of every form. A form without a cursor or a search ignores the arguments for them. */
interface ListArguments {
  accountId: number;
  boardId: number;
  voterId: number | null;
  statusKey: string | null;
  category: StatusCategory | null;
  offset: number;
  limit: number;
  q: string;
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

const listQueries = new Map<string, Query<ListArguments, IdeaView>>(
  forms.map(form => {
    const name = nameOf(form);
    // The best plan depends on the word: for a rare one the index of words, for a common one the index of the order.
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
 * Reads the first rows of each shown status from the index in the order of the list, then merges them. The cost does not
 * depend on the shown statuses or, with a cursor, on the depth of the page.
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
      .innerJoin(page, 'page.id', 'i.id')
      .orderBy('page.key', 'desc')
      .orderBy('page.id', 'desc');
  };
}

/**
 * Searches the index only for the long words, then compares the found rows with all words. The operator @@ may use an index,
 * but its function ts_match_vq never does.
 */
function hasWords(q: Expression<string>) {
  return sql<boolean>`i.title_words @@ index_words_query(${q})
    and (index_words_query(${q}) = words_query(${q}) or ts_match_vq(i.title_words, words_query(${q})))`;
}
