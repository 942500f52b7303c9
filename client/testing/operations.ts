import type { Idea, OperationId, Operations } from '@idea-board/client';
import { excerptLength } from '@idea-board/contract';
import { type BoardState, type TestToken, tallyOf } from './board-state.ts';
import { matches, pageOf } from './lists.ts';

/** A valid request of an operation. */
export interface ValidRequest<O extends OperationId = OperationId> {
  id: number;
  tagId: number;
  commentId: number;
  query: NonNullable<Operations[O]['query']>;
  body: Operations[O]['body'];
  token: TestToken;
}

/** The operations on a board. Each returns the result of a request, or throws a Refusal. */
export type Handlers = {
  [O in Exclude<OperationId, 'getToken'>]: (request: ValidRequest<O>) => Operations[O]['result'];
};

export function handlersOf(state: BoardState): Handlers {
  return {
    getBoard: () => state.details,
    listIdeas({ query, token }) {
      const { sort = 'newest', moderation_state } = query;
      const ideas = state.list({ isPending: moderation_state === 'pending' }).filter(idea => matches(idea, query));
      const page = pageOf(ideas, query, {
        sort,
        isDescending: true,
        placeOf: idea => [sort === 'top' ? tallyOf(idea, token.id).score : idea.createdAt, idea.id],
      });
      const data = page.data.map(idea => state.present(idea, token.id));
      return { ...page, data: query.body === 'excerpt' ? data.map(excerptOf) : data };
    },
    getIdea: ({ id, token }) => state.present(state.find(id, token), token.id),
    createIdea: ({ body, token }) => state.present(state.create(body, token), token.id),
    editIdea: ({ id, body, token }) => state.present(state.edit(id, body, token), token.id),
    deleteIdea: ({ id, query, token }) => state.delete(id, query.reason, token),
    voteIdea: ({ id, body, token }) => tallyOf(state.vote(id, body.value, token), token.id),
    commentOnIdea: ({ id, body, token }) => state.comment(id, body.body, token),
    listComments: ({ id, query, token }) =>
      pageOf(state.find(id, token).comments, query, {
        sort: 'oldest',
        isDescending: false,
        placeOf: comment => [0, comment.id],
      }),
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
  };
}

function excerptOf(idea: Idea): Idea {
  const characters = [...idea.body];
  if (characters.length <= excerptLength) return idea;
  return { ...idea, body: characters.slice(0, excerptLength).join(''), body_truncated: true };
}
