import type {
  Idea,
  ListCommentsQuery,
  ListNotesQuery,
  ListVotesQuery,
  OperationId,
  Operations,
} from '@idea-board/client';
import { excerptLength, maxIdsOfRequest } from '@idea-board/contract';
import type { BoardState } from './board-state.ts';
import { type EventLog, newEventId } from './event-log.ts';
import { matches, pageOf, rankOf } from './lists.ts';
import { listVotesOf, type StoredIdea, tallyOf } from './stored-idea.ts';
import type { TestToken } from './tokens.ts';
import type { Webhooks } from './webhooks.ts';

/** A request that the test server has validated. */
export interface ValidRequest<O extends OperationId = OperationId> {
  id: number;
  tagId: number;
  commentId: number;
  noteId: number;
  webhookId: number;
  deliveryId: number;
  query: NonNullable<Operations[O]['query']>;
  body: Operations[O]['body'];
  token: TestToken;
  /** A signal that aborts when the client disconnects. */
  signal: AbortSignal;
}

/**
 * The operations on a board. Each function returns the result of a request, or throws a Refusal. The test server answers
 * an operation without a function with the example of the contract.
 */
export type Handlers = {
  [O in Exclude<OperationId, 'getToken'>]?: (
    request: ValidRequest<O>,
  ) => O extends 'listEvents' ? Promise<Operations[O]['result']> : Operations[O]['result'];
};

export function handlersOf(state: BoardState, events: EventLog, webhooks: Webhooks): Handlers {
  return {
    getBoard: () => state.details,
    listIdeas({ query, token }) {
      const { sort = 'newest', ids } = query;
      const form = (idea: Idea) => (query.body === 'excerpt' ? excerptOf(idea) : idea);
      if (ids) {
        const found = [...new Set(ids)].flatMap(id => state.look(id, token) ?? []);
        const data = found.map(idea => form(state.present(idea, token.id)));
        return { data, page: 1, per_page: maxIdsOfRequest, has_more: false, next_cursor: null };
      }
      const listed = state.list({ isPending: query.moderation_state === 'pending' });
      const page = pageOf(
        listed.filter(idea => matches(idea, query)),
        query,
        { sort, isDescending: true, placeOf: idea => [rankOf(idea, sort), idea.id] },
      );
      return { ...page, data: page.data.map(idea => form(state.present(idea, token.id))) };
    },
    getIdea({ id, query: { expand = [] }, token }) {
      const idea = state.find(id, token);
      return {
        ...state.present(idea, token.id),
        ...(expand.includes('comments') && { comments: listComments(idea, {}) }),
        ...(expand.includes('votes') && { votes: listVotes(idea, {}) }),
      };
    },
    findSimilarIdeas({ query: { title = '', of }, token }) {
      const similar = of === undefined ? state.similar(title) : state.similarTo(of, token);
      const data = similar.map(({ idea, similarity }) => ({ ...excerptOf(state.present(idea, token.id)), similarity }));
      return { data };
    },
    createIdea({ query, body, token }) {
      const isUnique = query.on_similar === 'reject';
      return state.present(state.create(body, token, isUnique), token.id);
    },
    editIdea: ({ id, body, token }) => state.present(state.edit(id, body, token), token.id),
    deleteIdea: ({ id, query, token }) => state.delete(id, query.reason, token),
    voteIdea: ({ id, body, token }) => tallyOf(state.vote(id, body.value, token), token.id),
    listVotes: ({ id, query, token }) => listVotes(state.find(id, token), query),
    commentOnIdea: ({ id, body, token }) => state.comment(id, body.body, token),
    listComments: ({ id, query, token }) => listComments(state.find(id, token), query),
    // The validation has already split the text in `types` into an array.
    listEvents: ({ query, token, signal }) => events.list(query as Parameters<EventLog['list']>[0], token, signal),
    editComment: ({ id, commentId, body, token }) => state.editComment(id, commentId, body, token),
    deleteComment: ({ id, commentId, query, token }) => state.deleteComment(id, commentId, query.reason, token),
    setIdeaStatus: ({ id, body, token }) => state.present(state.setStatus(id, body, token), token.id),
    addIdeaTag: ({ id, body, token }) => state.present(state.addTag(id, body.tag_id, token), token.id),
    removeIdeaTag: ({ id, tagId, token }) => state.present(state.removeTag(id, tagId, token), token.id),
    mergeIdea({ id, body, token }) {
      const { idea, target } = state.merge(id, body.target_id, token);
      return { idea: state.present(idea, token.id), target: state.present(target, token.id) };
    },
    unmergeIdea({ id, token }) {
      const { idea, target } = state.unmerge(id, token);
      return { idea: state.present(idea, token.id), target: target && state.present(target, token.id) };
    },
    listNotes: ({ id, query, token }) => listNotes(state.find(id, token), query),
    addNote: ({ id, body, token }) => state.addNote(id, body.body, token),
    editNote: ({ id, noteId, body, token }) => state.editNote(id, noteId, body, token),
    deleteNote: ({ id, noteId, token }) => state.deleteNote(id, noteId, token),
    listWebhooks: ({ query }) =>
      pageOf(webhooks.list(), query, { sort: 'webhooks', isDescending: true, placeOf: ({ id }) => [0, id] }),
    getWebhook: ({ webhookId }) => webhooks.get(webhookId),
    createWebhook: ({ body, token }) => webhooks.create(body, token.id),
    updateWebhook: ({ webhookId, body }) => webhooks.update(webhookId, body),
    deleteWebhook: ({ webhookId }) => webhooks.delete(webhookId),
    rotateWebhookSecret: ({ webhookId, query }) => webhooks.rotate(webhookId, query.overlap_hours),
    testWebhook: ({ webhookId }) => webhooks.test(webhookId, newEventId()),
    listWebhookDeliveries: ({ webhookId, query }) => webhooks.listDeliveries(webhookId, query),
    redeliverWebhookDelivery: ({ webhookId, deliveryId }) => webhooks.redeliver(webhookId, deliveryId),
  };
}

function listComments(idea: StoredIdea, query: ListCommentsQuery) {
  return pageOf(idea.comments, query, { ...oldestFirst, placeOf: comment => [0, comment.id] });
}

function listNotes(idea: StoredIdea, query: ListNotesQuery) {
  return pageOf(idea.notes, query, { ...oldestFirst, placeOf: note => [0, note.id] });
}

const oldestFirst = { sort: 'oldest', isDescending: false };

function listVotes(idea: StoredIdea, query: ListVotesQuery) {
  const page = pageOf(listVotesOf(idea), query, {
    sort: 'voted',
    isDescending: true,
    placeOf: ({ vote, voterId }) => [vote.created_at, voterId],
  });
  return { ...page, data: page.data.map(({ vote }) => vote) };
}

function excerptOf(idea: Idea): Idea {
  const characters = [...idea.body];
  if (characters.length <= excerptLength) return idea;
  return { ...idea, body: characters.slice(0, excerptLength).join(''), body_truncated: true };
}
