/*
 * What the SDK knows of the contract: its types in plain TypeScript, so that checking a program needs no schema library,
 * and what sending each operation takes. Written by npm run client:contract from contract/.
 */

interface Route {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  /** Whether a token that grants more than one board has to name one. */
  isOnBoard: boolean;
  /** Whether a repeated request with the same Idempotency-Key is answered once. */
  takesKey: boolean;
}

/** What sending each operation takes. */
export const routes: Readonly<Record<OperationId, Route>> = {
  getBoard: { method: 'GET', path: '/api/v1/board', isOnBoard: true, takesKey: false },
  listIdeas: { method: 'GET', path: '/api/v1/ideas', isOnBoard: true, takesKey: false },
  getIdea: { method: 'GET', path: '/api/v1/ideas/:id', isOnBoard: true, takesKey: false },
  createIdea: { method: 'POST', path: '/api/v1/ideas', isOnBoard: true, takesKey: true },
  voteIdea: { method: 'POST', path: '/api/v1/ideas/:id/vote', isOnBoard: true, takesKey: true },
  commentOnIdea: { method: 'POST', path: '/api/v1/ideas/:id/comments', isOnBoard: true, takesKey: true },
  listComments: { method: 'GET', path: '/api/v1/ideas/:id/comments', isOnBoard: true, takesKey: false },
  setIdeaStatus: { method: 'POST', path: '/api/v1/ideas/:id/status', isOnBoard: true, takesKey: true },
  addIdeaTag: { method: 'POST', path: '/api/v1/ideas/:id/tags', isOnBoard: true, takesKey: true },
  removeIdeaTag: { method: 'DELETE', path: '/api/v1/ideas/:id/tags/:tagId', isOnBoard: true, takesKey: false },
  mergeIdea: { method: 'POST', path: '/api/v1/ideas/:id/merge', isOnBoard: true, takesKey: true },
  unmergeIdea: { method: 'POST', path: '/api/v1/ideas/:id/unmerge', isOnBoard: true, takesKey: true },
  getToken: { method: 'GET', path: '/api/v1/token', isOnBoard: false, takesKey: false },
};

/** An operation by its `operationId` in the OpenAPI document. */
export type OperationId = keyof Operations;

/** What each operation takes and answers, and the keys of the errors that it can end in. */
export interface Operations {
  /** Get the board */
  getBoard: {
    query: undefined;
    body: undefined;
    result: BoardDetails;
    errorKey:
      | 'board_required'
      | 'unauthorized'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'validation_failed'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** List ideas */
  listIdeas: {
    query: ListIdeasQuery;
    body: undefined;
    result: IdeaList;
    errorKey:
      | 'board_required'
      | 'unauthorized'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'token_issuer_not_moderator'
      | 'validation_failed'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** Get one idea */
  getIdea: {
    query: undefined;
    body: undefined;
    result: Idea;
    errorKey:
      | 'board_required'
      | 'unauthorized'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'not_found'
      | 'validation_failed'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** Create an idea */
  createIdea: {
    query: undefined;
    body: IdeaInput;
    result: Idea;
    errorKey:
      | 'malformed_json'
      | 'board_required'
      | 'unauthorized'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'user_blocked'
      | 'idempotency_key_in_use'
      | 'payload_too_large'
      | 'unsupported_media_type'
      | 'validation_failed'
      | 'idempotency_key_reused'
      | 'board_frozen'
      | 'submissions_not_open_yet'
      | 'submissions_closed'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** Vote on an idea */
  voteIdea: {
    query: undefined;
    body: VoteInput;
    result: VoteTally;
    errorKey:
      | 'malformed_json'
      | 'board_required'
      | 'unauthorized'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'user_blocked'
      | 'not_found'
      | 'idempotency_key_in_use'
      | 'payload_too_large'
      | 'unsupported_media_type'
      | 'validation_failed'
      | 'idempotency_key_reused'
      | 'board_frozen'
      | 'voting_not_open_yet'
      | 'voting_closed'
      | 'status_votes_closed'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** Comment on an idea */
  commentOnIdea: {
    query: undefined;
    body: CommentInput;
    result: Comment;
    errorKey:
      | 'malformed_json'
      | 'board_required'
      | 'unauthorized'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'user_blocked'
      | 'not_found'
      | 'idempotency_key_in_use'
      | 'payload_too_large'
      | 'unsupported_media_type'
      | 'validation_failed'
      | 'consecutive_comment'
      | 'idea_not_published'
      | 'idea_already_merged'
      | 'idempotency_key_reused'
      | 'board_frozen'
      | 'status_comments_closed'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** List the comments of an idea */
  listComments: {
    query: ListCommentsQuery;
    body: undefined;
    result: CommentList;
    errorKey:
      | 'board_required'
      | 'unauthorized'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'not_found'
      | 'validation_failed'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** Set the status of an idea */
  setIdeaStatus: {
    query: undefined;
    body: IdeaStatusInput;
    result: Idea;
    errorKey:
      | 'malformed_json'
      | 'board_required'
      | 'unauthorized'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'token_issuer_not_moderator'
      | 'user_blocked'
      | 'not_found'
      | 'idempotency_key_in_use'
      | 'payload_too_large'
      | 'unsupported_media_type'
      | 'validation_failed'
      | 'invalid_status'
      | 'idea_not_published'
      | 'idea_already_merged'
      | 'idempotency_key_reused'
      | 'board_frozen'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** Assign a tag to an idea */
  addIdeaTag: {
    query: undefined;
    body: IdeaTagInput;
    result: Idea;
    errorKey:
      | 'malformed_json'
      | 'board_required'
      | 'unauthorized'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'token_issuer_not_moderator'
      | 'user_blocked'
      | 'not_found'
      | 'idempotency_key_in_use'
      | 'payload_too_large'
      | 'unsupported_media_type'
      | 'validation_failed'
      | 'invalid_tag'
      | 'idea_not_published'
      | 'idea_already_merged'
      | 'idempotency_key_reused'
      | 'board_frozen'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** Remove a tag from an idea */
  removeIdeaTag: {
    query: undefined;
    body: undefined;
    result: Idea;
    errorKey:
      | 'malformed_json'
      | 'board_required'
      | 'unauthorized'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'token_issuer_not_moderator'
      | 'user_blocked'
      | 'not_found'
      | 'payload_too_large'
      | 'unsupported_media_type'
      | 'validation_failed'
      | 'idea_not_published'
      | 'idea_already_merged'
      | 'board_frozen'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** Merge an idea into another */
  mergeIdea: {
    query: undefined;
    body: MergeInput;
    result: Merge;
    errorKey:
      | 'malformed_json'
      | 'board_required'
      | 'unauthorized'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'token_issuer_not_moderator'
      | 'user_blocked'
      | 'not_found'
      | 'idempotency_key_in_use'
      | 'payload_too_large'
      | 'unsupported_media_type'
      | 'validation_failed'
      | 'idea_not_published'
      | 'idea_already_merged'
      | 'merge_into_self'
      | 'idempotency_key_reused'
      | 'board_frozen'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** Undo the merge of an idea */
  unmergeIdea: {
    query: undefined;
    body: undefined;
    result: Merge;
    errorKey:
      | 'malformed_json'
      | 'board_required'
      | 'unauthorized'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'token_issuer_not_moderator'
      | 'user_blocked'
      | 'not_found'
      | 'idempotency_key_in_use'
      | 'payload_too_large'
      | 'unsupported_media_type'
      | 'validation_failed'
      | 'idempotency_key_reused'
      | 'board_frozen'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** Get the token itself */
  getToken: {
    query: undefined;
    body: undefined;
    result: Token;
    errorKey:
      | 'unauthorized'
      | 'agent_api_unavailable'
      | 'validation_failed'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
}

/** Every error key of the API. */
export type ErrorKey =
  | 'malformed_json'
  | 'invalid_message'
  | 'bad_request'
  | 'invalid_content_length'
  | 'unknown_method'
  | 'board_required'
  | 'unauthorized'
  | 'agent_api_unavailable'
  | 'board_not_granted'
  | 'insufficient_scope'
  | 'token_issuer_not_moderator'
  | 'user_blocked'
  | 'origin_not_allowed'
  | 'not_found'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'idempotency_key_in_use'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'expectation_failed'
  | 'validation_failed'
  | 'invalid_status'
  | 'invalid_tag'
  | 'consecutive_comment'
  | 'idea_not_published'
  | 'idea_already_merged'
  | 'merge_into_self'
  | 'idempotency_key_reused'
  | 'board_frozen'
  | 'submissions_not_open_yet'
  | 'submissions_closed'
  | 'voting_not_open_yet'
  | 'voting_closed'
  | 'status_votes_closed'
  | 'status_comments_closed'
  | 'headers_too_large'
  | 'rate_limited'
  | 'internal_error'
  | 'service_unavailable';

/** The bodies of webhooks, by their `type`. */
export type EventBody =
  | IdeaCreatedEvent
  | IdeaStatusChangedEvent
  | IdeaMergedEvent
  | IdeaUnmergedEvent
  | IdeaVotedEvent
  | CommentCreatedEvent
  | WebhookTestEvent;

/** The types of events that this version knows. */
export const eventTypes: readonly EventBody['type'][] = [
  'idea.created',
  'idea.status_changed',
  'idea.merged',
  'idea.unmerged',
  'idea.voted',
  'comment.created',
  'webhook.test',
];

export interface ListIdeasQuery {
  /** Ideas in any status of this category. */
  status?: 'open' | 'planned' | 'in_progress' | 'done' | 'declined' | 'archived' | undefined;
  /** Ideas in exactly this status; wins over `status`. */
  status_key?: string | undefined;
  /** Searches titles: every word must match the beginning of a word of the title; accents are folded. */
  q?: string | undefined;
  /** `newest` by default; `top` is the highest score first. */
  sort?: 'newest' | 'top' | undefined;
  /** The approval queue instead of the published list; needs the `moderate` grant. */
  moderation_state?: 'pending' | undefined;
  /** The number of the page, from 1. For reading far, `cursor` is faster. Not together with `cursor`. */
  page?: number | undefined;
  /** How many entries a page has; 20 by default. */
  per_page?: number | undefined;
  /** The `next_cursor` of the page before, with the same other parameters. Not together with `page`. */
  cursor?: string | undefined;
}

export interface ListCommentsQuery {
  /** The number of the page, from 1. For reading far, `cursor` is faster. Not together with `cursor`. */
  page?: number | undefined;
  /** How many entries a page has; 20 by default. */
  per_page?: number | undefined;
  /** The `next_cursor` of the page before, with the same other parameters. Not together with `page`. */
  cursor?: string | undefined;
}

/** Who caused the event. */
export interface Actor {
  id: number;
  /** The user's name. */
  name: string;
  /** The token that acted for the user; null when the user acted in person. */
  token_id: number | null;
}

/** The user to whom an idea or a comment is attributed. */
export interface Author {
  id: number;
  /** The user's name. */
  name: string;
}

/** A board: its settings and its two windows. */
export interface Board {
  id: number;
  /** What the `board` parameter takes. */
  slug: string;
  /** The board's name. */
  name: string;
  /** What the board is for, in plain text; may be empty. */
  description: string;
  /** A frozen board accepts no writes. */
  is_frozen: boolean;
  /** New ideas await approval. */
  pre_moderation: boolean;
  /** No idea is created before; null: no such bound. */
  submissions_open_at: string | null;
  /** No idea is created from then on; null: no such bound. */
  submissions_close_at: string | null;
  /** No vote is taken before; null: no such bound. */
  voting_open_at: string | null;
  /** No vote is taken from then on; null: no such bound. */
  voting_close_at: string | null;
}

/** A board with its status registry and its tags. */
export interface BoardDetails {
  board: Board;
  /** The status registry, in its order. */
  statuses: Status[];
  /** The tags of the board, by name. */
  tags: Tag[];
}

/** Where a token stands in a rate-limit bucket. */
export interface BucketState {
  /** Requests in a window. */
  limit: number;
  /** Requests left in the current window. */
  remaining: number;
  /** Seconds until the window ends. */
  reset: number;
}

/** A field of the idea that the event changed. */
export interface Change {
  /** A field of the idea. */
  field: string;
  /** Its value before the event. */
  from: string | number | null;
  /** Its value after the event. */
  to: string | number | null;
}

/** A comment on an idea, in plain text. */
export interface Comment {
  id: number;
  /** The idea that is commented on. */
  idea_id: number;
  /** The comment, in plain text. */
  body: string;
  author: Author;
  /** When the comment was written. */
  created_at: string;
}

/** A comment was added to an idea. */
export interface CommentCreatedEvent {
  type: 'comment.created';
  /** When it happened. */
  timestamp: string;
  data: {
    board: EventBoard;
    idea: EventIdea;
    /** Null when the operator of the server acted. */
    actor: Actor | null;
    /** What the event changed of the idea. */
    changes: Change[];
    comment: Comment;
  };
}

/** The comment to add. */
export interface CommentInput {
  /** Plain text, 1 to 500 characters after trimming. */
  body: string;
}

/** A page of comments, oldest first. */
export interface CommentList {
  /** The entries of this page. */
  data: Comment[];
  /** The number of this page; null when it was reached with a cursor. */
  page: number | null;
  /** How many entries a page has, except the last. */
  per_page: number;
  /** Whether entries follow this page. */
  has_more: boolean;
  /** The cursor of the next page; null on the last. */
  next_cursor: string | null;
}

/** The board on which the event happened. */
export interface EventBoard {
  id: number;
  /** What the `board` parameter takes. */
  slug: string;
  /** The board's name. */
  name: string;
}

/** The idea as it was right after the event. */
export interface EventIdea {
  id: number;
  /** What is wished for, in a line. */
  title: string;
  /** What it is about, in plain text. */
  body: string;
  /** The status category, in the words of the `status` filter. */
  status: 'open' | 'planned' | 'in_progress' | 'done' | 'declined' | 'archived';
  /** The exact status; equals `status` unless the board defines custom statuses. */
  status_key: string;
  /** What the status means, whatever the board calls it. */
  status_category: 'inbox' | 'planned' | 'active' | 'completed' | 'declined' | 'archived';
  /** The board's label for the status. */
  status_label: string;
  /** `pending` while the idea awaits approval. */
  moderation_state: 'published' | 'pending';
  /** `up_count` less `down_count`. */
  score: number;
  /** Votes for the idea. */
  up_count: number;
  /** Votes against the idea. */
  down_count: number;
  /** Comments on the idea. */
  comment_count: number;
  /** The tags that are assigned to the idea. */
  tags: Tag[];
  author: Author;
  /** The idea into which this one is merged. */
  merged_into_id: number | null;
  /** When the idea was created. */
  created_at: string;
  /** When its status, tags, approval or merge last changed. */
  updated_at: string;
}

/**
 * `read`: the board and its published ideas. `write`: also create ideas, vote and comment. `moderate`: also
 * change statuses and tags, merge, and read pending ideas.
 */
export type Grant = 'read' | 'write' | 'moderate';

/** An idea on a board. */
export interface Idea {
  id: number;
  /** What is wished for, in a line. */
  title: string;
  /** What it is about, in plain text. */
  body: string;
  /** The status category, in the words of the `status` filter. */
  status: 'open' | 'planned' | 'in_progress' | 'done' | 'declined' | 'archived';
  /** The exact status; equals `status` unless the board defines custom statuses. */
  status_key: string;
  /** What the status means, whatever the board calls it. */
  status_category: 'inbox' | 'planned' | 'active' | 'completed' | 'declined' | 'archived';
  /** The board's label for the status. */
  status_label: string;
  /** `pending` while the idea awaits approval. */
  moderation_state: 'published' | 'pending';
  /** `up_count` less `down_count`. */
  score: number;
  /** Votes for the idea. */
  up_count: number;
  /** Votes against the idea. */
  down_count: number;
  /** Comments on the idea. */
  comment_count: number;
  /** The token's own vote. */
  my_vote: 'up' | 'down' | 'none';
  /** The tags that are assigned to the idea. */
  tags: Tag[];
  author: Author;
  /** The idea into which this one is merged. */
  merged_into_id: number | null;
  /** When the idea was created. */
  created_at: string;
  /** When its status, tags, approval or merge last changed. */
  updated_at: string;
}

/** An idea was published: at once, or when a pending one was approved. */
export interface IdeaCreatedEvent {
  type: 'idea.created';
  /** When it happened. */
  timestamp: string;
  data: {
    board: EventBoard;
    idea: EventIdea;
    /** Null when the operator of the server acted. */
    actor: Actor | null;
    /** What the event changed of the idea. */
    changes: Change[];
  };
}

/** The idea to create. */
export interface IdeaInput {
  /** 1 to 200 characters after trimming. */
  title: string;
  /** 1 to 10,000 characters after trimming. */
  body: string;
}

/** A page of ideas. */
export interface IdeaList {
  /** The entries of this page. */
  data: Idea[];
  /** The number of this page; null when it was reached with a cursor. */
  page: number | null;
  /** How many entries a page has, except the last. */
  per_page: number;
  /** Whether entries follow this page. */
  has_more: boolean;
  /** The cursor of the next page; null on the last. */
  next_cursor: string | null;
}

/** An idea was folded into `target`. */
export interface IdeaMergedEvent {
  type: 'idea.merged';
  /** When it happened. */
  timestamp: string;
  data: {
    board: EventBoard;
    idea: EventIdea;
    /** Null when the operator of the server acted. */
    actor: Actor | null;
    /** What the event changed of the idea. */
    changes: Change[];
    target: EventIdea;
  };
}

/** An idea moved to another status; `changes` has the `status_key` before and after. */
export interface IdeaStatusChangedEvent {
  type: 'idea.status_changed';
  /** When it happened. */
  timestamp: string;
  data: {
    board: EventBoard;
    idea: EventIdea;
    /** Null when the operator of the server acted. */
    actor: Actor | null;
    /** What the event changed of the idea. */
    changes: Change[];
  };
}

/** The status to set. */
export interface IdeaStatusInput {
  /** A key of the board's status registry. */
  status: string;
}

/** The tag to assign. */
export interface IdeaTagInput {
  /** The id of a tag of the board. */
  tag_id: number;
}

/** The merge of an idea into `target` was undone. */
export interface IdeaUnmergedEvent {
  type: 'idea.unmerged';
  /** When it happened. */
  timestamp: string;
  data: {
    board: EventBoard;
    idea: EventIdea;
    /** Null when the operator of the server acted. */
    actor: Actor | null;
    /** What the event changed of the idea. */
    changes: Change[];
    target: EventIdea;
  };
}

/** A vote on an idea was cast, changed or removed. */
export interface IdeaVotedEvent {
  type: 'idea.voted';
  /** When it happened. */
  timestamp: string;
  data: {
    board: EventBoard;
    idea: EventIdea;
    /** Null when the operator of the server acted. */
    actor: Actor | null;
    /** What the event changed of the idea. */
    changes: Change[];
    vote: {
      /** The vote now. */
      value: 'up' | 'down' | 'none';
      /** The vote before. */
      previous: 'up' | 'down' | 'none';
    };
  };
}

/**
 * The two ideas of a merge or of its undoing, as they are afterwards. `target` is null when an unmerge had
 * nothing to undo.
 */
export interface Merge {
  idea: Idea;
  /** The idea into which it is, or was, merged. */
  target: Idea | null;
}

/** Into which idea to merge. */
export interface MergeInput {
  /** The id of the idea to merge into. */
  target_id: number;
}

/** An entry of a board's status registry. */
export interface Status {
  /** The value for a status change; custom statuses included. */
  key: string;
  /** What the status means, whatever the board calls it. */
  category: 'inbox' | 'planned' | 'active' | 'completed' | 'declined' | 'archived';
  /** The board's label. */
  label: string;
  /** Ideas in this status are left out of lists that do not ask for it. */
  is_hidden: boolean;
  /** When false, voting on ideas in this status answers 423. */
  allow_votes: boolean;
  /** When false, commenting on ideas in this status answers 423. */
  allow_comments: boolean;
}

/** A tag of a board. */
export interface Tag {
  id: number;
  /** The tag's name, unique on its board. */
  name: string;
  /** Six hexadecimal digits after `#`. */
  color: string;
}

/** Who a token is and what it may do. */
export interface Token {
  id: number;
  /** What its issuer called it. */
  name: string;
  /** The account to which it belongs. */
  account: {
    id: number;
    name: string;
  };
  /** The user who issued the token. */
  issuer: {
    id: number;
    name: string;
  };
  /** The boards that it grants, each at its level. */
  boards: {
    id: number;
    slug: string;
    name: string;
    grant: Grant;
    /** Whether moderator actions are allowed now: the grant is `moderate` and the issuer is a moderator. */
    is_moderate_effective: boolean;
  }[];
  /** When it ends; null: never. */
  expires_at: string | null;
  /** Where it stands in its two rate-limit buckets. */
  buckets: {
    'apitoken:read': BucketState;
    'apitoken:write': BucketState;
  };
}

/** One reason for which a request does not match its schema. */
export interface ValidationIssue {
  /**
   * Where the value stands: `body`, `query` or `headers` first (in the call of a tool `arguments` or `_meta`),
   * then field names and array positions.
   */
  path: (string | number)[];
  /** What is wrong, as a word for programs. */
  code: string;
  /** What is wrong, as a sentence for people. */
  message: string;
}

/** The vote that the token shall have. */
export interface VoteInput {
  /** The desired end state; `none` removes the vote. */
  value: 'up' | 'down' | 'none';
}

/** The tally of an idea after a vote. */
export interface VoteTally {
  /** `up_count` less `down_count`. */
  score: number;
  /** The token's current vote. */
  my_vote: 'up' | 'down' | 'none';
  /** Votes for the idea. */
  up_count: number;
  /** Votes against the idea. */
  down_count: number;
}

/** Sent on request, to try an endpoint out. It tells of nothing. */
export interface WebhookTestEvent {
  type: 'webhook.test';
  /** When it was sent. */
  timestamp: string;
  data: {
    /** The webhook that is tried out. */
    endpoint_id: number;
  };
}
