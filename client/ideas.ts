import type { Call, NotModified } from './call.ts';
import type { Caller } from './caller.ts';
import type {
  Comment,
  CommentEdit,
  CommentInput,
  CommentList,
  CreateIdeaQuery,
  DeleteCommentQuery,
  DeleteIdeaQuery,
  Deletion,
  ExpandedIdea,
  FindSimilarIdeasQuery,
  GetIdeaQuery,
  Idea,
  IdeaEdit,
  IdeaInput,
  IdeaList,
  IdeaStatusInput,
  IdeaTagInput,
  ListCommentsQuery,
  ListIdeasQuery,
  ListNotesQuery,
  ListVotesQuery,
  Merge,
  MergeInput,
  Note,
  NoteEdit,
  NoteInput,
  NoteList,
  SimilarIdeaList,
  Vote,
  VoteInput,
  VoteList,
  VoteTally,
} from './contract.ts';
import { List } from './list.ts';
import type { CallOptions, ConditionalOptions, WriteOptions } from './options.ts';

/** The operations on the ideas of a board. Requests and results have the field names of the API. */
export class Ideas {
  readonly #caller: Caller;

  /** @internal */
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /**
   * Lists the published ideas, newest first by default. With `moderation_state: 'pending'`, lists the ideas that await
   * approval. With `ids`, lists exactly these ideas. Await the list for one page, or iterate over it for all ideas. A
   * call with the option `etag` gets only one page.
   */
  list(query: ListIdeasQuery | undefined, options: ConditionalOptions): Call<IdeaList | NotModified>;
  list(query?: ListIdeasQuery, options?: CallOptions): List<Idea, IdeaList>;
  list(query: ListIdeasQuery = {}, options: CallOptions = {}): List<Idea, IdeaList> | Call<IdeaList | NotModified> {
    // A list of ideas by their ids has only one page. The server refuses pagination parameters for this list.
    const read = (page: ListIdeasQuery) => this.#caller.call('listIdeas', { query: query.ids ? query : page }, options);
    return 'etag' in options ? read(query) : new List(read, query);
  }

  /**
   * Finds at most five ideas that are similar to a new idea with the given title and body. With the parameter `of`,
   * finds ideas that are similar to the existing idea with this id. Each found idea has a `similarity` from 0.2 to 1.
   */
  similar(query: FindSimilarIdeasQuery, options: ConditionalOptions): Call<SimilarIdeaList | NotModified>;
  similar(query: FindSimilarIdeasQuery, options?: CallOptions): Call<SimilarIdeaList>;
  similar(query: FindSimilarIdeasQuery, options: CallOptions = {}) {
    return this.#caller.call('findSimilarIdeas', { query }, options);
  }

  /** Gets one idea. With the parameter `expand`, the result also has the first page of the idea's comments or votes. */
  get(id: number, options: ConditionalOptions & GetIdeaQuery): Call<ExpandedIdea | NotModified>;
  get(id: number, options?: CallOptions & GetIdeaQuery): Call<ExpandedIdea>;
  get(id: number, { expand, ...options }: CallOptions & GetIdeaQuery = {}) {
    return this.#caller.call('getIdea', { params: { id }, query: { expand } }, options);
  }

  /**
   * Creates an idea. On a board with pre-moderation the idea is pending approval, unless the token may moderate. With
   * `on_similar: 'reject'`, the call fails with the error `similar_ideas` if the board has a near-duplicate.
   */
  create(idea: IdeaInput, { on_similar, ...options }: WriteOptions & CreateIdeaQuery = {}): Call<Idea> {
    return this.#caller.call('createIdea', { query: { on_similar }, body: idea }, options);
  }

  /**
   * Edits the title or the body of an idea. The author can edit an idea within 15 minutes of its creation. A token with
   * the `moderate` grant can edit the idea at any time. With `if_updated_at`, the edit fails with `idea_changed` if the
   * idea has changed since that time.
   */
  edit(id: number, edit: IdeaEdit, options?: CallOptions): Call<Idea> {
    return this.#caller.call('editIdea', { params: { id }, body: edit }, options);
  }

  /**
   * Deletes an idea with its comments and votes. The author can delete an idea within 15 minutes of its creation if
   * nobody else has voted or commented. A token with the `moderate` grant can delete the idea at any time. A repeated
   * deletion fails with `not_found`.
   */
  delete(id: number, query: DeleteIdeaQuery = {}, options?: CallOptions): Call<Deletion> {
    return this.#caller.call('deleteIdea', { params: { id }, query }, options);
  }

  /** Sets the vote of the token on an idea. Setting the same vote again changes nothing. */
  vote(id: number, vote: VoteInput, options?: WriteOptions): Call<VoteTally> {
    return this.#caller.call('voteIdea', { params: { id }, body: vote }, options);
  }

  /**
   * Lists the votes on an idea, newest first. The token needs the `moderate` grant. A call with the option `etag` gets
   * only one page.
   */
  votes(id: number, query: ListVotesQuery | undefined, options: ConditionalOptions): Call<VoteList | NotModified>;
  votes(id: number, query?: ListVotesQuery, options?: CallOptions): List<Vote, VoteList>;
  votes(
    id: number,
    query: ListVotesQuery = {},
    options: CallOptions = {},
  ): List<Vote, VoteList> | Call<VoteList | NotModified> {
    const read = (page: ListVotesQuery) => this.#caller.call('listVotes', { params: { id }, query: page }, options);
    return 'etag' in options ? read(query) : new List(read, query);
  }

  /** Adds a comment to an idea. The author of the comment is the user who issued the token. */
  comment(id: number, comment: CommentInput, options?: WriteOptions): Call<Comment> {
    return this.#caller.call('commentOnIdea', { params: { id }, body: comment }, options);
  }

  /** Lists the comments on an idea, oldest first. A call with the option `etag` gets only one page. */
  comments(
    id: number,
    query: ListCommentsQuery | undefined,
    options: ConditionalOptions,
  ): Call<CommentList | NotModified>;
  comments(id: number, query?: ListCommentsQuery, options?: CallOptions): List<Comment, CommentList>;
  comments(
    id: number,
    query: ListCommentsQuery = {},
    options: CallOptions = {},
  ): List<Comment, CommentList> | Call<CommentList | NotModified> {
    const read = (page: ListCommentsQuery) =>
      this.#caller.call('listComments', { params: { id }, query: page }, options);
    return 'etag' in options ? read(query) : new List(read, query);
  }

  /**
   * Edits the text of a comment. The author can edit a comment within 15 minutes of its creation. A token with the
   * `moderate` grant can edit the comment at any time. With `if_updated_at`, the edit fails with `comment_changed` if
   * the comment has changed since that time.
   */
  editComment(id: number, commentId: number, edit: CommentEdit, options?: CallOptions): Call<Comment> {
    return this.#caller.call('editComment', { params: { id, commentId }, body: edit }, options);
  }

  /**
   * Deletes a comment. The author can delete a comment within 15 minutes of its creation. A token with the `moderate`
   * grant can delete the comment at any time. A repeated deletion fails with `not_found`.
   */
  deleteComment(id: number, commentId: number, query: DeleteCommentQuery = {}, options?: CallOptions): Call<Deletion> {
    return this.#caller.call('deleteComment', { params: { id, commentId }, query }, options);
  }

  /** Sets the status of an idea. The token needs the `moderate` grant. */
  setStatus(id: number, status: IdeaStatusInput, options?: WriteOptions): Call<Idea> {
    return this.#caller.call('setIdeaStatus', { params: { id }, body: status }, options);
  }

  /** Assigns a tag to an idea. The token needs the `moderate` grant. */
  addTag(id: number, tag: IdeaTagInput, options?: WriteOptions): Call<Idea> {
    return this.#caller.call('addIdeaTag', { params: { id }, body: tag }, options);
  }

  /** Removes a tag from an idea. The token needs the `moderate` grant. */
  removeTag(id: number, tagId: number, options?: CallOptions): Call<Idea> {
    return this.#caller.call('removeIdeaTag', { params: { id, tagId } }, options);
  }

  /** Merges the idea into the idea `target_id`. The token needs the `moderate` grant. */
  merge(id: number, merge: MergeInput, options?: WriteOptions): Call<Merge> {
    return this.#caller.call('mergeIdea', { params: { id }, body: merge }, options);
  }

  /** Undoes the merge of the idea. The token needs the `moderate` grant. */
  unmerge(id: number, options?: WriteOptions): Call<Merge> {
    return this.#caller.call('unmergeIdea', { params: { id } }, options);
  }

  /**
   * Lists the notes about an idea, oldest first. The token needs the `moderate` grant. A call with the option `etag` gets
   * only one page.
   */
  notes(id: number, query: ListNotesQuery | undefined, options: ConditionalOptions): Call<NoteList | NotModified>;
  notes(id: number, query?: ListNotesQuery, options?: CallOptions): List<Note, NoteList>;
  notes(
    id: number,
    query: ListNotesQuery = {},
    options: CallOptions = {},
  ): List<Note, NoteList> | Call<NoteList | NotModified> {
    const read = (page: ListNotesQuery) => this.#caller.call('listNotes', { params: { id }, query: page }, options);
    return 'etag' in options ? read(query) : new List(read, query);
  }

  /**
   * Adds a note about an idea. Only moderators can read it, and nobody is notified. The token needs the `moderate` grant.
   */
  addNote(id: number, note: NoteInput, options?: WriteOptions): Call<Note> {
    return this.#caller.call('addNote', { params: { id }, body: note }, options);
  }

  /**
   * Edits the text of a note. The token needs the `moderate` grant. With `if_updated_at`, the edit fails with
   * `note_changed` if the note has changed since that time.
   */
  editNote(id: number, noteId: number, edit: NoteEdit, options?: CallOptions): Call<Note> {
    return this.#caller.call('editNote', { params: { id, noteId }, body: edit }, options);
  }

  /** Deletes a note. The token needs the `moderate` grant. A repeated deletion fails with `not_found`. */
  deleteNote(id: number, noteId: number, options?: CallOptions): Call<Deletion> {
    return this.#caller.call('deleteNote', { params: { id, noteId } }, options);
  }
}
