import type { Call } from './call.ts';
import type { Caller } from './caller.ts';
import type {
  Comment,
  CommentInput,
  CommentList,
  Idea,
  IdeaInput,
  IdeaList,
  IdeaStatusInput,
  IdeaTagInput,
  ListCommentsQuery,
  ListIdeasQuery,
  Merge,
  MergeInput,
  VoteInput,
  VoteTally,
} from './contract.ts';
import { List } from './list.ts';
import type { CallOptions, WriteOptions } from './options.ts';

/** The ideas of a board. What is sent and answered has the names of the API. */
export class Ideas {
  readonly #caller: Caller;

  /** @internal */
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** The published ideas, newest first unless `sort` says otherwise. Await it for a page, or go through all of them. */
  list(query: ListIdeasQuery = {}, options?: CallOptions): List<Idea, IdeaList> {
    return new List(page => this.#caller.call('listIdeas', { query: page }, options), query);
  }

  get(id: number, options?: CallOptions): Call<Idea> {
    return this.#caller.call('getIdea', { params: { id } }, options);
  }

  /** On a board with pre-moderation the idea awaits approval, unless the token may moderate. */
  create(idea: IdeaInput, options?: WriteOptions): Call<Idea> {
    return this.#caller.call('createIdea', { body: idea }, options);
  }

  /** Sets the vote of the token. Voting again changes it, the same value again changes nothing. */
  vote(id: number, vote: VoteInput, options?: WriteOptions): Call<VoteTally> {
    return this.#caller.call('voteIdea', { params: { id }, body: vote }, options);
  }

  /** Comments as the user who issued the token. */
  comment(id: number, comment: CommentInput, options?: WriteOptions): Call<Comment> {
    return this.#caller.call('commentOnIdea', { params: { id }, body: comment }, options);
  }

  /** The comments, oldest first. */
  comments(id: number, query: ListCommentsQuery = {}, options?: CallOptions): List<Comment, CommentList> {
    return new List(page => this.#caller.call('listComments', { params: { id }, query: page }, options), query);
  }

  /** Needs the `moderate` grant. */
  setStatus(id: number, status: IdeaStatusInput, options?: WriteOptions): Call<Idea> {
    return this.#caller.call('setIdeaStatus', { params: { id }, body: status }, options);
  }

  /** Needs the `moderate` grant. */
  addTag(id: number, tag: IdeaTagInput, options?: WriteOptions): Call<Idea> {
    return this.#caller.call('addIdeaTag', { params: { id }, body: tag }, options);
  }

  /** Needs the `moderate` grant. */
  removeTag(id: number, tagId: number, options?: CallOptions): Call<Idea> {
    return this.#caller.call('removeIdeaTag', { params: { id, tagId } }, options);
  }

  /** Folds the idea into `target_id`. Needs the `moderate` grant. */
  merge(id: number, merge: MergeInput, options?: WriteOptions): Call<Merge> {
    return this.#caller.call('mergeIdea', { params: { id }, body: merge }, options);
  }

  /** Undoes the merge of the idea. Needs the `moderate` grant. */
  unmerge(id: number, options?: WriteOptions): Call<Merge> {
    return this.#caller.call('unmergeIdea', { params: { id } }, options);
  }
}
