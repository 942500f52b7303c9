import type {
  Author,
  Board,
  BoardDetails,
  Comment,
  CommentEdit,
  Deletion,
  ErrorKey,
  EventBody,
  EventIdea,
  Idea,
  IdeaEdit,
  IdeaStatusInput,
  Note,
  NoteEdit,
  Status,
  Tag,
} from '@idea-board/client';
import * as contract from '@idea-board/contract';
import { exampleOf } from './example.ts';
import { Refusal } from './refusal.ts';
import { similarityOf } from './similarity.ts';
import { type StoredIdea, tallyOf, timeAfter, touch, votesOf } from './stored-idea.ts';
import type { TestToken } from './tokens.ts';

/** An event of the board. */
export type BoardEvent = Exclude<EventBody, { type: 'webhook.test' }>;

/** The board of a test server in memory, with the rules of the Agent API. */
export class BoardState {
  readonly board: Board;
  readonly statuses: Status[];
  readonly tags: Tag[];
  #ideas: StoredIdea[] = [];
  readonly #baseUrl: string;
  readonly #emit: (event: BoardEvent) => void;
  #lastId = 0;

  constructor(settings: Partial<Board>, baseUrl: string, emit: (event: BoardEvent) => void) {
    const example = contract.BoardDetails.parse(exampleOf(contract.BoardDetails));
    // In the contract's example of a board, the time windows have ended. The test board has no time windows, so it
    // accepts ideas and votes.
    const windows = {
      submissions_open_at: null,
      submissions_close_at: null,
      voting_open_at: null,
      voting_close_at: null,
    };
    this.board = { ...example.board, ...windows, ...settings };
    this.statuses = example.statuses;
    this.tags = example.tags;
    this.#baseUrl = baseUrl;
    this.#emit = emit;
  }

  get details(): BoardDetails {
    return { board: this.board, statuses: this.statuses, tags: this.tags };
  }

  /** Returns either the ideas that await approval, or the published ideas that were not merged into another idea. */
  list({ isPending }: { isPending: boolean }): StoredIdea[] {
    return this.#ideas.filter(idea => idea.isPending === isPending && idea.mergedInto === undefined);
  }

  /** Returns the idea with this id if the token can see the idea. Otherwise returns undefined. */
  look(id: number, token: TestToken): StoredIdea | undefined {
    return this.#ideas.find(one => one.id === id && (!one.isPending || token.grant === 'moderate'));
  }

  /** Returns the idea with this id. Throws a Refusal if the token cannot see the idea. */
  find(id: number, token: TestToken): StoredIdea {
    const idea = this.look(id, token);
    if (!idea) throw new Refusal('not_found');
    return idea;
  }

  /**
   * Finds the published ideas with a similar title, the most similar first. Compares only the trigrams of titles. The
   * real server also compares words and bodies, so the real server finds more ideas.
   */
  similar(title: string): { idea: StoredIdea; similarity: number }[] {
    return this.list({ isPending: false })
      .filter(({ status }) => !status.is_hidden)
      .map(idea => ({ idea, similarity: similarityOf(idea.title, title) }))
      .filter(({ similarity }) => similarity >= contract.leastSimilarity)
      .sort((a, b) => b.similarity - a.similarity)
      .slice(0, contract.maxSimilarIdeas);
  }

  /** Finds the ideas that are similar to the idea with this id. The token must be able to see this idea. */
  similarTo(id: number, token: TestToken) {
    const { title } = this.find(id, token);
    return this.similar(title).filter(({ idea }) => idea.id !== id);
  }

  /** Finds an idea for a change. Refuses the change if the board is frozen. */
  findToChange(id: number, token: TestToken): StoredIdea {
    const idea = this.find(id, token);
    this.#refuseIf(this.board.is_frozen, 'board_frozen');
    return idea;
  }

  /** Finds an idea for a change. Refuses the change if the board is frozen, or if the idea is pending or merged. */
  findPublished(id: number, token: TestToken): StoredIdea {
    const idea = this.findToChange(id, token);
    checkPublished(idea);
    return idea;
  }

  create({ title, body }: { title: string; body: string }, token: TestToken, isUnique: boolean): StoredIdea {
    const { is_frozen, submissions_open_at, submissions_close_at, pre_moderation } = this.board;
    this.#refuseIf(is_frozen, 'board_frozen');
    this.#refuseIf(isAhead(submissions_open_at), 'submissions_not_open_yet');
    this.#refuseIf(isOver(submissions_close_at), 'submissions_closed');
    if (isUnique) this.#refuseNearDuplicate(title);
    const [status] = this.statuses;
    if (!status) throw new TypeError('The board has no statuses');
    const createdAt = new Date().toISOString();
    const idea: StoredIdea = {
      id: this.#nextId(),
      title,
      body,
      status,
      isPending: pre_moderation && token.grant !== 'moderate',
      tags: [],
      author: token.user,
      mergedInto: undefined,
      sources: [],
      votes: new Map(),
      comments: [],
      notes: [],
      createdAt,
      updatedAt: createdAt,
    };
    this.#ideas.push(idea);
    if (!idea.isPending) this.#record('idea.created', idea, token);
    return idea;
  }

  #urlOf(id: number): string {
    return `${this.#baseUrl}/b/${this.board.slug}/ideas/${id}`;
  }

  #refuseNearDuplicate(title: string) {
    const ideas = this.similar(title)
      .filter(({ similarity }) => similarity >= contract.nearDuplicateSimilarity)
      .map(({ idea: { id, title }, similarity }) => ({ id, title, url: this.#urlOf(id), similarity }));
    if (ideas.length > 0) throw new Refusal('similar_ideas', { details: { ideas } });
  }

  /** Publishes a pending idea, as a moderator of the real server does on a web page. */
  approve(id: number, token: TestToken) {
    const idea = this.find(id, token);
    if (!idea.isPending) return;
    idea.isPending = false;
    touch(idea);
    this.#record('idea.created', idea, { ...token, id: null });
  }

  edit(id: number, edit: IdeaEdit, token: TestToken): StoredIdea {
    const idea = this.findToChange(id, token);
    checkAuthor(idea, token);
    const { submissions_open_at, submissions_close_at, pre_moderation } = this.board;
    if (token.grant !== 'moderate') {
      this.#refuseIf(isAhead(submissions_open_at), 'submissions_not_open_yet');
      this.#refuseIf(isOver(submissions_close_at), 'submissions_closed');
      this.#refuseIf(pre_moderation, 'change_window_closed');
    }
    checkWindow(idea, token);
    checkPublished(idea);
    const { title = idea.title, body = idea.body, if_updated_at, reason } = edit;
    const fields = [...(title === idea.title ? [] : ['title']), ...(body === idea.body ? [] : ['body'])];
    if (fields.length === 0) return idea;
    this.#refuseIf(isOther(if_updated_at, idea.updatedAt), 'idea_changed');
    Object.assign(idea, { title, body });
    touch(idea);
    const changes = fields.map(field => ({ field, from: null, to: null }));
    this.#record('idea.updated', idea, token, { changes, ...withReason(reason) });
    return idea;
  }

  delete(id: number, reason: string | undefined, token: TestToken): Deletion {
    const idea = this.find(id, token);
    checkAuthor(idea, token);
    checkWindow(idea, token);
    checkPublished(idea);
    const isOfOthers = [...votesOf(idea)].some(([voter, { value }]) => voter !== token.id && value !== 'none');
    const isInUse = isOfOthers || idea.comments.some(({ author }) => author.id !== idea.author.id);
    this.#refuseIf(isInUse && token.grant !== 'moderate', 'idea_in_use');
    this.#refuseIf(idea.sources.length > 0, 'idea_has_merged');
    idea.body = '(deleted)';
    touch(idea);
    this.#record('idea.deleted', idea, token, withReason(reason));
    this.#ideas = this.#ideas.filter(one => one !== idea);
    return { id, deleted: true };
  }

  vote(id: number, value: contract.VoteValue, token: TestToken): StoredIdea {
    const idea = this.find(id, token);
    // A moderator can see a pending idea, but nobody can vote on it.
    this.#refuseIf(idea.isPending || idea.mergedInto !== undefined, 'not_found');
    const { is_frozen, voting_open_at, voting_close_at } = this.board;
    this.#refuseIf(is_frozen, 'board_frozen');
    this.#refuseIf(isAhead(voting_open_at), 'voting_not_open_yet');
    this.#refuseIf(isOver(voting_close_at), 'voting_closed');
    this.#refuseIf(!idea.status.allow_votes, 'status_votes_closed');
    const { value: previous = 'none', createdAt = new Date().toISOString() } = votesOf(idea).get(token.id) ?? {};
    if (value === 'none' && idea.sources.length === 0) idea.votes.delete(token.id);
    else idea.votes.set(token.id, { value, voter: token, createdAt });
    if (value !== previous) this.#record('idea.voted', idea, token, { vote: { value, previous } });
    return idea;
  }

  comment(id: number, body: string, token: TestToken): Comment {
    const idea = this.findToChange(id, token);
    this.#refuseIf(!idea.status.allow_comments, 'status_comments_closed');
    checkPublished(idea);
    const last = idea.comments.at(-1);
    if (last?.author.id === token.user.id) {
      const { id, created_at } = last;
      throw new Refusal('consecutive_comment', { details: { last_comment: { id, created_at } } });
    }
    return this.#addComment(idea, body, token, false);
  }

  editComment(id: number, commentId: number, edit: CommentEdit, token: TestToken): Comment {
    const idea = this.findToChange(id, token);
    const comment = findIn(idea.comments, commentId);
    checkAuthor(comment, token);
    this.#refuseIf(!idea.status.allow_comments && !comment.official, 'status_comments_closed');
    checkWindow({ createdAt: comment.created_at }, token);
    checkPublished(idea);
    const { body, if_updated_at, reason } = edit;
    if (body === comment.body) return comment;
    this.#refuseIf(isOther(if_updated_at, comment.updated_at), 'comment_changed');
    Object.assign(comment, { body, updated_at: timeAfter(comment.updated_at) });
    const { author: _, ...shown } = comment;
    this.#record('comment.updated', idea, token, { comment: shown, ...withReason(reason) });
    return comment;
  }

  deleteComment(id: number, commentId: number, reason: string | undefined, token: TestToken): Deletion {
    const idea = this.find(id, token);
    const comment = findIn(idea.comments, commentId);
    checkAuthor(comment, token);
    checkWindow({ createdAt: comment.created_at }, token);
    idea.comments = idea.comments.filter(one => one !== comment);
    const { author: _, body: __, updated_at: ___, ...shown } = comment;
    this.#record('comment.deleted', idea, token, { comment: shown, ...withReason(reason) });
    return { id: commentId, deleted: true };
  }

  setStatus(id: number, { status: key, reply }: IdeaStatusInput, token: TestToken): StoredIdea {
    const idea = this.findPublished(id, token);
    const status = this.statuses.find(one => one.key === key);
    if (!status) {
      throw new Refusal('invalid_status', { details: { statuses: this.statuses.map(one => one.key) } });
    }
    const from = idea.status.key;
    const newest = [...idea.comments].reverse().find(({ official }) => official);
    const isReplyNew = reply !== undefined && (from !== key || newest?.body !== reply);
    const comment = isReplyNew ? this.#addComment(idea, reply, token, true) : undefined;
    if (from === key) return idea;
    idea.status = status;
    touch(idea);
    const changes = [{ field: 'status_key', from, to: key }];
    this.#record('idea.status_changed', idea, token, { changes, ...(comment && { reply: comment }) });
    return idea;
  }

  addTag(id: number, tagId: number, token: TestToken): StoredIdea {
    const idea = this.findPublished(id, token);
    const tag = this.tags.find(one => one.id === tagId);
    if (!tag) throw new Refusal('invalid_tag', { details: { tags: this.tags } });
    if (idea.tags.includes(tag)) return idea;
    this.#refuseIf(idea.tags.length >= contract.maxTagsOfIdea, 'too_many_tags');
    idea.tags.push(tag);
    touch(idea);
    this.#record('idea.tagged', idea, token, { changes: [{ field: 'tags', from: null, to: tagId }] });
    return idea;
  }

  removeTag(id: number, tagId: number, token: TestToken): StoredIdea {
    const idea = this.findPublished(id, token);
    if (!idea.tags.some(tag => tag.id === tagId)) return idea;
    idea.tags = idea.tags.filter(tag => tag.id !== tagId);
    touch(idea);
    this.#record('idea.tagged', idea, token, { changes: [{ field: 'tags', from: tagId, to: null }] });
    return idea;
  }

  merge(id: number, targetId: number, token: TestToken): { idea: StoredIdea; target: StoredIdea } {
    const idea = this.findToChange(id, token);
    const target = this.findToChange(targetId, token);
    this.#refuseIf(idea === target, 'merge_into_self');
    if (idea.mergedInto === target) return { idea, target };
    for (const one of [idea, target]) checkPublished(one, contract.mergeMeanings);
    idea.mergedInto = target;
    target.sources.push(idea);
    touch(idea);
    const changes = [{ field: 'merged_into_id', from: null, to: target.id }];
    this.#record('idea.merged', idea, token, { changes, target: this.#inEvent(target) });
    return { idea, target };
  }

  unmerge(id: number, token: TestToken): { idea: StoredIdea; target: StoredIdea | null } {
    const idea = this.findToChange(id, token);
    const target = idea.mergedInto;
    if (!target) return { idea, target: null };
    idea.mergedInto = undefined;
    target.sources = target.sources.filter(one => one !== idea);
    if (target.sources.length === 0) {
      for (const [voter, { value }] of target.votes) if (value === 'none') target.votes.delete(voter);
    }
    touch(idea);
    const changes = [{ field: 'merged_into_id', from: target.id, to: null }];
    this.#record('idea.unmerged', idea, token, { changes, target: this.#inEvent(target) });
    return { idea, target };
  }

  addNote(id: number, body: string, token: TestToken): Note {
    const idea = this.findToChange(id, token);
    const created_at = new Date().toISOString();
    const written = { author: token.user, created_at, updated_at: created_at };
    const note = { id: this.#nextId(), idea_id: idea.id, body, ...written };
    idea.notes.push(note);
    return note;
  }

  editNote(id: number, noteId: number, { body, if_updated_at }: NoteEdit, token: TestToken): Note {
    const note = findIn(this.findToChange(id, token).notes, noteId);
    if (body === note.body) return note;
    this.#refuseIf(isOther(if_updated_at, note.updated_at), 'note_changed');
    return Object.assign(note, { body, updated_at: timeAfter(note.updated_at) });
  }

  deleteNote(id: number, noteId: number, token: TestToken): Deletion {
    const idea = this.findToChange(id, token);
    const note = findIn(idea.notes, noteId);
    idea.notes = idea.notes.filter(one => one !== note);
    return { id: noteId, deleted: true };
  }

  /** Returns an idea in the format of the API. The field `my_vote` is the vote of the given voter. */
  present(idea: StoredIdea, voterId: number): Idea {
    const { id, title, body, status, isPending, tags, author, mergedInto, comments, createdAt, updatedAt } = idea;
    return {
      id,
      title,
      body,
      body_truncated: false,
      status: contract.statusOfCategory[status.category],
      status_key: status.key,
      status_category: status.category,
      status_label: status.label,
      moderation_state: isPending ? 'pending' : 'published',
      ...tallyOf(idea, voterId),
      comment_count: comments.length,
      tags,
      author,
      merged_into_id: mergedInto?.id ?? null,
      created_at: createdAt,
      updated_at: updatedAt,
      url: this.#urlOf(id),
    };
  }

  #addComment(idea: StoredIdea, body: string, token: TestToken, official: boolean): Comment {
    const created_at = new Date().toISOString();
    const written = { author: token.user, created_at, updated_at: created_at };
    const comment = { id: this.#nextId(), idea_id: idea.id, body, ...written, official };
    idea.comments.push(comment);
    this.#record('comment.created', idea, token, { comment });
    return comment;
  }

  #inEvent(idea: StoredIdea): EventIdea {
    const { my_vote: _, body_truncated: __, ...seen } = this.present(idea, 0);
    return seen;
  }

  #record(
    type: contract.EventType,
    idea: StoredIdea,
    { id: token_id, user }: { id: number | null; user: Author },
    more: object = {},
  ) {
    const { id, slug, name } = this.board;
    const about = { board: { id, slug, name }, idea: this.#inEvent(idea), actor: { ...user, token_id }, changes: [] };
    this.#emit({ type, timestamp: new Date().toISOString(), data: { ...about, ...more } } as BoardEvent);
  }

  #refuseIf(condition: boolean, key: ErrorKey) {
    if (condition) throw new Refusal(key);
  }

  /**
   * An idea, a comment and a note never have the same id. So a test that confuses the id of an idea with the id of a
   * comment fails.
   */
  #nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }
}

function checkPublished(idea: StoredIdea, meanings?: Parameters<typeof contract.meaningOf>[1]) {
  const key = idea.isPending ? 'idea_not_published' : idea.mergedInto ? 'idea_already_merged' : undefined;
  if (key) throw new Refusal(key, { message: contract.meaningOf(key, meanings) });
}

/** Returns the comment or note with this id. Throws a Refusal if there is none. */
function findIn<One extends { id: number }>(texts: readonly One[], id: number): One {
  const text = texts.find(one => one.id === id);
  if (!text) throw new Refusal('not_found');
  return text;
}

function checkAuthor({ author }: { author: Author }, { grant, user }: TestToken) {
  if (grant !== 'moderate' && author.id !== user.id) throw new Refusal('not_author');
}

function checkWindow({ createdAt }: { createdAt: string }, { grant }: TestToken) {
  const isOpen = Date.now() < Date.parse(createdAt) + contract.changeMinutes * 60_000;
  if (grant !== 'moderate' && !isOpen) throw new Refusal('change_window_closed');
}

function isOther(ifUpdatedAt: string | undefined, updatedAt: string): boolean {
  return ifUpdatedAt !== undefined && Date.parse(ifUpdatedAt) !== Date.parse(updatedAt);
}

function withReason(reason: string | undefined) {
  return reason === undefined ? {} : { reason };
}

function isAhead(time: string | null): boolean {
  return time !== null && Date.now() < Date.parse(time);
}

function isOver(time: string | null): boolean {
  return time !== null && Date.now() >= Date.parse(time);
}
