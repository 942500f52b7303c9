import { type Expression, type Kysely, sql } from 'kysely';
import { type IdeaStatus, type StatusCategory, statusOfCategory } from '../../../contract/status.ts';
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

/** Lists the published ideas of the reader's board, or its approval queue. */
export async function listIdeas(op: ReadOperation, filter: IdeaFilter, place: Place): Promise<Page<IdeaView>> {
  const { accountId, boardId, voterId } = op.actor;
  const { sort, isPending, statusKey, q } = filter;
  const list = listQuery({
    sort,
    isPending,
    isPublic: isPublicReader(op.actor),
    isSearch: q !== undefined,
    hasCursor: place.cursor !== undefined,
    rowsOfStatus: place.offset === 0 ? (enoughRows.find(rows => rows > place.perPage) ?? null) : null,
  });
  const rows = await op.query(list, {
    accountId,
    boardId,
    voterId,
    statusKey: statusKey ?? null,
    category: statusKey === undefined ? categoryOf(filter.status) : null,
    offset: place.offset,
    // One more than the page holds tells whether another follows.
    limit: place.perPage + 1,
    q: q ?? '',
    cursorKey: place.cursor?.key ?? '',
    cursorId: place.cursor?.id ?? 0,
  });
  return cutPage(rows, place, idea => cursorOf(sort, idea));
}

function categoryOf(status: IdeaStatus | undefined): StatusCategory | null {
  if (status === undefined) return null;
  const entries = Object.entries(statusOfCategory) as [StatusCategory, IdeaStatus][];
  return entries.find(([, value]) => value === status)?.[0] ?? null;
}

function cursorOf(sort: IdeaFilter['sort'], idea: IdeaView): Cursor {
  return { sort, key: sort === 'newest' ? idea.created_at : idea.score, id: idea.id };
}

/** The ways in which the text of the list's query differs. */
interface ListForm {
  sort: IdeaFilter['sort'];
  isPending: boolean;
  /** Hidden statuses are left out even where they are asked for. */
  isPublic: boolean;
  isSearch: boolean;
  hasCursor: boolean;
  /** How many rows of each status suffice for the page; null for one that begins after an offset. */
  rowsOfStatus: number | null;
}

/**
 * For the default page and for the largest one, with the row that tells whether another page follows. These stand in
 * the text: PostgreSQL takes a limit that is a parameter for a tenth of the table, finds a plan for any value so dear
 * that it makes a new one for each call, and making it took three times as long as the list.
 */
const enoughRows = [21, 101] as const;

/** The arguments of every form. A form that needs no cursor or no search leaves theirs out of its text. */
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
    // A rare word is found through its index, a common one by walking the newest: the plan depends on the word.
    return [name, query(name, ideasOf(form), { isPrepared: !form.isSearch })];
  }),
);

function listQuery(form: ListForm): Query<ListArguments, IdeaView> {
  const list = listQueries.get(nameOf(form));
  if (!list) throw new Error(`No query lists ideas as ${nameOf(form)}`);
  return list;
}

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
 * The list takes the first rows of each status that it shows, each from the index in the order of the list, and
 * merges them: so it costs the same whichever statuses are shown, and the same at any depth with a cursor.
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
      .where('shown.account_id', '=', $.accountId)
      .where('shown.board_id', '=', $.boardId)
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
 * The index is asked for the long words alone, and what it finds is held against all of them: the operator @@ may use an
 * index, and its function never does.
 */
function hasWords(q: Expression<string>) {
  return sql<boolean>`i.title_words @@ index_words_query(${q})
    and (index_words_query(${q}) = words_query(${q}) or ts_match_vq(i.title_words, words_query(${q})))`;
}
