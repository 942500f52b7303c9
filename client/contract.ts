/*
 * The SDK's part of the contract: types in plain TypeScript, which need no schema library, and the route of each operation.
 * Written by npm run client:contract from contract/.
 */

interface Route {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  /** Whether a token with several boards must name a board in the request. */
  isOnBoard: boolean;
  /** Whether the operation accepts an Idempotency-Key. */
  takesKey: boolean;
}

/** The method, the path and other facts about each operation. */
export const routes: Readonly<Record<OperationId, Route>> = {
  getToken: { method: 'GET', path: '/api/v1/token', isOnBoard: false, takesKey: false },
  getBoard: { method: 'GET', path: '/api/v1/board', isOnBoard: true, takesKey: false },
  listIdeas: { method: 'GET', path: '/api/v1/ideas', isOnBoard: true, takesKey: false },
  createIdea: { method: 'POST', path: '/api/v1/ideas', isOnBoard: true, takesKey: true },
  editIdea: { method: 'PATCH', path: '/api/v1/ideas/:id', isOnBoard: true, takesKey: false },
  deleteIdea: { method: 'DELETE', path: '/api/v1/ideas/:id', isOnBoard: true, takesKey: false },
  findSimilarIdeas: { method: 'GET', path: '/api/v1/ideas/similar', isOnBoard: true, takesKey: false },
  getIdea: { method: 'GET', path: '/api/v1/ideas/:id', isOnBoard: true, takesKey: false },
  voteIdea: { method: 'POST', path: '/api/v1/ideas/:id/vote', isOnBoard: true, takesKey: true },
  listVotes: { method: 'GET', path: '/api/v1/ideas/:id/votes', isOnBoard: true, takesKey: false },
  commentOnIdea: { method: 'POST', path: '/api/v1/ideas/:id/comments', isOnBoard: true, takesKey: true },
  listComments: { method: 'GET', path: '/api/v1/ideas/:id/comments', isOnBoard: true, takesKey: false },
  editComment: { method: 'PATCH', path: '/api/v1/ideas/:id/comments/:commentId', isOnBoard: true, takesKey: false },
  deleteComment: { method: 'DELETE', path: '/api/v1/ideas/:id/comments/:commentId', isOnBoard: true, takesKey: false },
  listEvents: { method: 'GET', path: '/api/v1/events', isOnBoard: true, takesKey: false },
  setIdeaStatus: { method: 'POST', path: '/api/v1/ideas/:id/status', isOnBoard: true, takesKey: true },
  addIdeaTag: { method: 'POST', path: '/api/v1/ideas/:id/tags', isOnBoard: true, takesKey: true },
  removeIdeaTag: { method: 'DELETE', path: '/api/v1/ideas/:id/tags/:tagId', isOnBoard: true, takesKey: false },
  mergeIdea: { method: 'POST', path: '/api/v1/ideas/:id/merge', isOnBoard: true, takesKey: true },
  unmergeIdea: { method: 'POST', path: '/api/v1/ideas/:id/unmerge', isOnBoard: true, takesKey: true },
  listNotes: { method: 'GET', path: '/api/v1/ideas/:id/notes', isOnBoard: true, takesKey: false },
  addNote: { method: 'POST', path: '/api/v1/ideas/:id/notes', isOnBoard: true, takesKey: true },
  editNote: { method: 'PATCH', path: '/api/v1/ideas/:id/notes/:noteId', isOnBoard: true, takesKey: false },
  deleteNote: { method: 'DELETE', path: '/api/v1/ideas/:id/notes/:noteId', isOnBoard: true, takesKey: false },
  listWebhooks: { method: 'GET', path: '/api/v1/webhooks', isOnBoard: true, takesKey: false },
  getWebhook: { method: 'GET', path: '/api/v1/webhooks/:webhookId', isOnBoard: true, takesKey: false },
  createWebhook: { method: 'POST', path: '/api/v1/webhooks', isOnBoard: true, takesKey: true },
  updateWebhook: { method: 'PATCH', path: '/api/v1/webhooks/:webhookId', isOnBoard: true, takesKey: false },
  deleteWebhook: { method: 'DELETE', path: '/api/v1/webhooks/:webhookId', isOnBoard: true, takesKey: false },
  rotateWebhookSecret: {
    method: 'POST',
    path: '/api/v1/webhooks/:webhookId/rotate-secret',
    isOnBoard: true,
    takesKey: true,
  },
  testWebhook: { method: 'POST', path: '/api/v1/webhooks/:webhookId/test', isOnBoard: true, takesKey: true },
  listWebhookDeliveries: {
    method: 'GET',
    path: '/api/v1/webhooks/:webhookId/deliveries',
    isOnBoard: true,
    takesKey: false,
  },
  redeliverWebhookDelivery: {
    method: 'POST',
    path: '/api/v1/webhooks/:webhookId/deliveries/:deliveryId/redeliver',
    isOnBoard: true,
    takesKey: true,
  },
};

/** An operation by its `operationId` in the OpenAPI document. */
export type OperationId = keyof Operations;

/** The event types of this version. */
export const eventTypes: readonly EventBody['type'][] = [
  'idea.created',
  'idea.status_changed',
  'idea.merged',
  'idea.unmerged',
  'idea.voted',
  'comment.created',
  'idea.updated',
  'idea.deleted',
  'idea.tagged',
  'comment.updated',
  'comment.deleted',
  'webhook.test',
];

/**
 * `read`: read the board and its published ideas. `write`: also create ideas, vote and comment. `moderate`: also change statuses and tags, merge, read and write notes, and read pending ideas.
 */
export type Grant = 'read' | 'write' | 'moderate';
/** `manage_webhooks`: manage the webhooks of the boards of the token. */
export type Capability = 'manage_webhooks';
/** Every error key of the API. */
export type ErrorKey =
  | 'malformed_json'
  | 'invalid_message'
  | 'bad_request'
  | 'invalid_content_length'
  | 'unknown_method'
  | 'board_required'
  | 'unauthorized'
  | 'network_not_allowed'
  | 'agent_api_unavailable'
  | 'board_not_granted'
  | 'insufficient_scope'
  | 'missing_capability'
  | 'token_issuer_not_moderator'
  | 'user_blocked'
  | 'not_author'
  | 'origin_not_allowed'
  | 'not_found'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'idempotency_key_in_use'
  | 'idea_changed'
  | 'comment_changed'
  | 'note_changed'
  | 'similar_ideas'
  | 'cursor_expired'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'expectation_failed'
  | 'validation_failed'
  | 'invalid_status'
  | 'invalid_tag'
  | 'too_many_tags'
  | 'consecutive_comment'
  | 'change_window_closed'
  | 'idea_in_use'
  | 'idea_has_merged'
  | 'idea_not_published'
  | 'idea_already_merged'
  | 'merge_into_self'
  | 'too_many_webhooks'
  | 'webhook_disabled'
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
  | 'too_many_waits'
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
  | IdeaUpdatedEvent
  | IdeaDeletedEvent
  | IdeaTaggedEvent
  | CommentUpdatedEvent
  | CommentDeletedEvent
  | WebhookTestEvent;

/** The query, the body, the result and the error keys of each operation. */
export interface Operations {
  /** Get the token itself */
  getToken: {
    query: undefined;
    body: undefined;
    result: Token;
    errorKey:
      | 'unauthorized'
      | 'network_not_allowed'
      | 'agent_api_unavailable'
      | 'validation_failed'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** Get the board */
  getBoard: {
    query: undefined;
    body: undefined;
    result: BoardDetails;
    errorKey:
      | 'board_required'
      | 'unauthorized'
      | 'network_not_allowed'
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
      | 'network_not_allowed'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'token_issuer_not_moderator'
      | 'validation_failed'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** Create an idea */
  createIdea: {
    query: CreateIdeaQuery;
    body: IdeaInput;
    result: Idea;
    errorKey:
      | 'malformed_json'
      | 'board_required'
      | 'unauthorized'
      | 'network_not_allowed'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'user_blocked'
      | 'idempotency_key_in_use'
      | 'similar_ideas'
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
  /** Edit an idea */
  editIdea: {
    query: undefined;
    body: IdeaEdit;
    result: Idea;
    errorKey:
      | 'malformed_json'
      | 'board_required'
      | 'unauthorized'
      | 'network_not_allowed'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'token_issuer_not_moderator'
      | 'user_blocked'
      | 'not_author'
      | 'not_found'
      | 'idea_changed'
      | 'payload_too_large'
      | 'unsupported_media_type'
      | 'validation_failed'
      | 'change_window_closed'
      | 'idea_not_published'
      | 'idea_already_merged'
      | 'board_frozen'
      | 'submissions_not_open_yet'
      | 'submissions_closed'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** Delete an idea */
  deleteIdea: {
    query: DeleteIdeaQuery;
    body: undefined;
    result: Deletion;
    errorKey:
      | 'malformed_json'
      | 'board_required'
      | 'unauthorized'
      | 'network_not_allowed'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'token_issuer_not_moderator'
      | 'user_blocked'
      | 'not_author'
      | 'not_found'
      | 'payload_too_large'
      | 'unsupported_media_type'
      | 'validation_failed'
      | 'change_window_closed'
      | 'idea_in_use'
      | 'idea_has_merged'
      | 'idea_not_published'
      | 'idea_already_merged'
      | 'board_frozen'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** Find similar ideas */
  findSimilarIdeas: {
    query: FindSimilarIdeasQuery;
    body: undefined;
    result: SimilarIdeaList;
    errorKey:
      | 'board_required'
      | 'unauthorized'
      | 'network_not_allowed'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'not_found'
      | 'validation_failed'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** Get one idea */
  getIdea: {
    query: GetIdeaQuery;
    body: undefined;
    result: ExpandedIdea;
    errorKey:
      | 'board_required'
      | 'unauthorized'
      | 'network_not_allowed'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'token_issuer_not_moderator'
      | 'not_found'
      | 'validation_failed'
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
      | 'network_not_allowed'
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
  /** List the votes of an idea */
  listVotes: {
    query: ListVotesQuery;
    body: undefined;
    result: VoteList;
    errorKey:
      | 'board_required'
      | 'unauthorized'
      | 'network_not_allowed'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'token_issuer_not_moderator'
      | 'not_found'
      | 'validation_failed'
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
      | 'network_not_allowed'
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
      | 'network_not_allowed'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'not_found'
      | 'validation_failed'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** Edit a comment */
  editComment: {
    query: undefined;
    body: CommentEdit;
    result: Comment;
    errorKey:
      | 'malformed_json'
      | 'board_required'
      | 'unauthorized'
      | 'network_not_allowed'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'token_issuer_not_moderator'
      | 'user_blocked'
      | 'not_author'
      | 'not_found'
      | 'comment_changed'
      | 'payload_too_large'
      | 'unsupported_media_type'
      | 'validation_failed'
      | 'change_window_closed'
      | 'idea_not_published'
      | 'idea_already_merged'
      | 'board_frozen'
      | 'status_comments_closed'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** Delete a comment */
  deleteComment: {
    query: DeleteCommentQuery;
    body: undefined;
    result: Deletion;
    errorKey:
      | 'malformed_json'
      | 'board_required'
      | 'unauthorized'
      | 'network_not_allowed'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'token_issuer_not_moderator'
      | 'user_blocked'
      | 'not_author'
      | 'not_found'
      | 'payload_too_large'
      | 'unsupported_media_type'
      | 'validation_failed'
      | 'change_window_closed'
      | 'board_frozen'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** List events */
  listEvents: {
    query: ListEventsQuery;
    body: undefined;
    result: EventList;
    errorKey:
      | 'board_required'
      | 'unauthorized'
      | 'network_not_allowed'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'cursor_expired'
      | 'validation_failed'
      | 'rate_limited'
      | 'too_many_waits'
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
      | 'network_not_allowed'
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
      | 'network_not_allowed'
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
      | 'too_many_tags'
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
      | 'network_not_allowed'
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
      | 'network_not_allowed'
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
      | 'network_not_allowed'
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
  /** List the notes about an idea */
  listNotes: {
    query: ListNotesQuery;
    body: undefined;
    result: NoteList;
    errorKey:
      | 'board_required'
      | 'unauthorized'
      | 'network_not_allowed'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'token_issuer_not_moderator'
      | 'not_found'
      | 'validation_failed'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** Add a note about an idea */
  addNote: {
    query: undefined;
    body: NoteInput;
    result: Note;
    errorKey:
      | 'malformed_json'
      | 'board_required'
      | 'unauthorized'
      | 'network_not_allowed'
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
  /** Edit a note */
  editNote: {
    query: undefined;
    body: NoteEdit;
    result: Note;
    errorKey:
      | 'malformed_json'
      | 'board_required'
      | 'unauthorized'
      | 'network_not_allowed'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'token_issuer_not_moderator'
      | 'user_blocked'
      | 'not_found'
      | 'note_changed'
      | 'payload_too_large'
      | 'unsupported_media_type'
      | 'validation_failed'
      | 'board_frozen'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** Delete a note */
  deleteNote: {
    query: undefined;
    body: undefined;
    result: Deletion;
    errorKey:
      | 'malformed_json'
      | 'board_required'
      | 'unauthorized'
      | 'network_not_allowed'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'token_issuer_not_moderator'
      | 'user_blocked'
      | 'not_found'
      | 'payload_too_large'
      | 'unsupported_media_type'
      | 'validation_failed'
      | 'board_frozen'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** List webhooks */
  listWebhooks: {
    query: ListWebhooksQuery;
    body: undefined;
    result: WebhookList;
    errorKey:
      | 'board_required'
      | 'unauthorized'
      | 'network_not_allowed'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'missing_capability'
      | 'validation_failed'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** Get one webhook */
  getWebhook: {
    query: undefined;
    body: undefined;
    result: Webhook;
    errorKey:
      | 'board_required'
      | 'unauthorized'
      | 'network_not_allowed'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'missing_capability'
      | 'not_found'
      | 'validation_failed'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** Create a webhook */
  createWebhook: {
    query: undefined;
    body: WebhookInput;
    result: WebhookWithSecret;
    errorKey:
      | 'malformed_json'
      | 'board_required'
      | 'unauthorized'
      | 'network_not_allowed'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'missing_capability'
      | 'user_blocked'
      | 'idempotency_key_in_use'
      | 'payload_too_large'
      | 'unsupported_media_type'
      | 'validation_failed'
      | 'too_many_webhooks'
      | 'idempotency_key_reused'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** Change a webhook */
  updateWebhook: {
    query: undefined;
    body: WebhookEdit;
    result: Webhook;
    errorKey:
      | 'malformed_json'
      | 'board_required'
      | 'unauthorized'
      | 'network_not_allowed'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'missing_capability'
      | 'user_blocked'
      | 'not_found'
      | 'payload_too_large'
      | 'unsupported_media_type'
      | 'validation_failed'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** Delete a webhook */
  deleteWebhook: {
    query: undefined;
    body: undefined;
    result: Deletion;
    errorKey:
      | 'malformed_json'
      | 'board_required'
      | 'unauthorized'
      | 'network_not_allowed'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'missing_capability'
      | 'user_blocked'
      | 'not_found'
      | 'payload_too_large'
      | 'unsupported_media_type'
      | 'validation_failed'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** Rotate the secret of a webhook */
  rotateWebhookSecret: {
    query: RotateWebhookSecretQuery;
    body: undefined;
    result: WebhookWithSecret;
    errorKey:
      | 'malformed_json'
      | 'board_required'
      | 'unauthorized'
      | 'network_not_allowed'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'missing_capability'
      | 'user_blocked'
      | 'not_found'
      | 'idempotency_key_in_use'
      | 'payload_too_large'
      | 'unsupported_media_type'
      | 'validation_failed'
      | 'idempotency_key_reused'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** Send a test event */
  testWebhook: {
    query: undefined;
    body: undefined;
    result: WebhookDelivery;
    errorKey:
      | 'malformed_json'
      | 'board_required'
      | 'unauthorized'
      | 'network_not_allowed'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'missing_capability'
      | 'user_blocked'
      | 'not_found'
      | 'idempotency_key_in_use'
      | 'payload_too_large'
      | 'unsupported_media_type'
      | 'validation_failed'
      | 'webhook_disabled'
      | 'idempotency_key_reused'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** List the deliveries of a webhook */
  listWebhookDeliveries: {
    query: ListWebhookDeliveriesQuery;
    body: undefined;
    result: WebhookDeliveryList;
    errorKey:
      | 'board_required'
      | 'unauthorized'
      | 'network_not_allowed'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'missing_capability'
      | 'not_found'
      | 'validation_failed'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
  /** Redeliver an event */
  redeliverWebhookDelivery: {
    query: undefined;
    body: undefined;
    result: WebhookDelivery;
    errorKey:
      | 'malformed_json'
      | 'board_required'
      | 'unauthorized'
      | 'network_not_allowed'
      | 'agent_api_unavailable'
      | 'board_not_granted'
      | 'insufficient_scope'
      | 'missing_capability'
      | 'user_blocked'
      | 'not_found'
      | 'idempotency_key_in_use'
      | 'payload_too_large'
      | 'unsupported_media_type'
      | 'validation_failed'
      | 'webhook_disabled'
      | 'idempotency_key_reused'
      | 'rate_limited'
      | 'internal_error'
      | 'service_unavailable';
  };
}
/** A token with its boards, grants and limits. */
export interface Token {
  id: number;
  /** The name that the issuer gave the token. */
  name: string;
  /** The account of the token. */
  account: {
    id: number;
    name: string;
  };
  /** The user who issued the token. */
  issuer: {
    id: number;
    name: string;
  };
  /** The boards of the token, each with its grant. */
  boards: {
    id: number;
    slug: string;
    name: string;
    grant: Grant;
    /** Whether the token can moderate now: its grant is `moderate`, and its issuer is a moderator. */
    is_moderate_effective: boolean;
  }[];
  /** The capabilities that the token can use now. Empty while its issuer is neither owner nor admin. */
  capabilities: Capability[];
  /** When the token expires; null: never. */
  expires_at: string | null;
  /**
   * When the secret of this request stops working, because the token has a newer secret; null: this is the newest secret.
   */
  secret_expires_at: string | null;
  /** The state of the two rate limits of the token. */
  buckets: {
    'apitoken:read': BucketState;
    'apitoken:write': BucketState;
  };
}
/** The state of one rate limit of a token. */
export interface BucketState {
  /** Requests allowed per window. */
  limit: number;
  /** Requests left in the current window. */
  remaining: number;
  /** Seconds until the window ends. */
  reset: number;
}
/** A board with its status registry and its tags. */
export interface BoardDetails {
  board: Board;
  /** The status registry, in order. */
  statuses: Status[];
  /** The tags of the board, sorted by name. */
  tags: Tag[];
}
/** A board with its settings and its two windows, for submissions and for voting. */
export interface Board {
  id: number;
  /** The value for the `board` parameter. */
  slug: string;
  /** The board's name. */
  name: string;
  /** The purpose of the board, in plain text. It can be empty. */
  description: string;
  /** A frozen board accepts no writes. */
  is_frozen: boolean;
  /** New ideas await approval. */
  pre_moderation: boolean;
  /** When the board starts to accept ideas; null: no limit. */
  submissions_open_at: string | null;
  /** When the board stops accepting ideas; null: no limit. */
  submissions_close_at: string | null;
  /** When the board starts to accept votes; null: no limit. */
  voting_open_at: string | null;
  /** When the board stops accepting votes; null: no limit. */
  voting_close_at: string | null;
}
/** An entry of a board's status registry. */
export interface Status {
  /** The value for a status change. Custom statuses have their own keys. */
  key: string;
  /** The meaning of the status, independent of its label. */
  category: 'inbox' | 'planned' | 'active' | 'completed' | 'declined' | 'archived';
  /** The board's label. */
  label: string;
  /** Lists leave out ideas in this status unless they filter for it. */
  is_hidden: boolean;
  /** If false, voting on ideas in this status returns 423. */
  allow_votes: boolean;
  /** If false, commenting on ideas in this status returns 423. */
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
export interface ListIdeasQuery {
  /** Ideas in any status of this category. */
  status?: ('open' | 'planned' | 'in_progress' | 'done' | 'declined' | 'archived') | undefined;
  /** Ideas in exactly this status. Takes precedence over `status`. */
  status_key?: string | undefined;
  /**
   * Searches titles. Every word must match the beginning of a word in the title. Accents are ignored. An empty text does not filter.
   */
  q?: string | undefined;
  /** Ideas with the tag of this id. */
  tag?: number | undefined;
  /** Ideas whose `author` is the user with this id. */
  author?: number | undefined;
  /** Ideas created after this time. */
  created_after?: string | undefined;
  /** Ideas created before this time. */
  created_before?: string | undefined;
  /** Ideas with an `updated_at` at this time or later. Votes and comments do not change `updated_at`. */
  updated_since?: string | undefined;
  /**
   * The order, highest first: `newest` (the default) by `created_at`, `top` by `score`, `updated` by `updated_at`, `comments` by `comment_count`, `trending` by `created_at` plus a week for each doubling of the score.
   */
  sort?: ('newest' | 'top' | 'updated' | 'comments' | 'trending') | undefined;
  /** Returns the approval queue instead of the published ideas. Needs the `moderate` grant. */
  moderation_state?: 'pending' | undefined;
  /** `excerpt` cuts each body to its first 300 characters and sets `body_truncated`. */
  body?: ('full' | 'excerpt') | undefined;
  /**
   * Returns the ideas with these ids in this order, even merged and hidden ideas. Skips unknown ids. Cannot be combined with filters, `sort` or pages. At most 100 ids.
   *
   * @maxItems 100
   */
  ids?: number[] | undefined;
  /** The page number, from 1. `cursor` is faster and cannot be combined with it. */
  page?: number | undefined;
  /** The number of entries per page; 20 by default. */
  per_page?: number | undefined;
  /** The `next_cursor` of the previous page. Repeat the other parameters. */
  cursor?: string | undefined;
}
/** A page of ideas. */
export interface IdeaList {
  /** The entries of this page. */
  data: Idea[];
  /** The number of this page; null if the request used a cursor. */
  page: number | null;
  /** The number of entries per page. The last page can have fewer. */
  per_page: number;
  /** Whether there is a next page. */
  has_more: boolean;
  /** The cursor of the next page; null on the last page. */
  next_cursor: string | null;
}
/** An idea on a board. */
export interface Idea {
  id: number;
  /** A summary of the request, on one line. */
  title: string;
  /** The details, in plain text. */
  body: string;
  /** Whether `body` is only an excerpt, the beginning of a longer body. */
  body_truncated: boolean;
  /** The status category, as a value of the `status` filter. */
  status: 'open' | 'planned' | 'in_progress' | 'done' | 'declined' | 'archived';
  /** The exact status; equals `status` unless the board defines custom statuses. */
  status_key: string;
  /** The meaning of the status, independent of its label. */
  status_category: 'inbox' | 'planned' | 'active' | 'completed' | 'declined' | 'archived';
  /** The board's label for the status. */
  status_label: string;
  /** `pending` while the idea awaits approval. */
  moderation_state: 'published' | 'pending';
  /** `up_count` minus `down_count`. */
  score: number;
  /** Votes for the idea. */
  up_count: number;
  /** Votes against the idea. */
  down_count: number;
  /** Comments on the idea. */
  comment_count: number;
  /** The token's own vote. */
  my_vote: 'up' | 'down' | 'none';
  /** The tags of the idea. */
  tags: Tag[];
  author: Author;
  /** The id of the idea that this one is merged into; null: not merged. */
  merged_into_id: number | null;
  /** When the idea was created. */
  created_at: string;
  /**
   * When the title, body, status, tags, approval or merge of the idea last changed. Each change increases this time.
   */
  updated_at: string;
  /**
   * The address of the idea's page for people, as in mails and chat messages. The page opens only for people who may see the idea.
   */
  url: string;
}
/** The author of an idea or a comment. */
export interface Author {
  id: number;
  /** The user's name. */
  name: string;
}
export interface CreateIdeaQuery {
  /** `reject` creates no idea if the board has a near-duplicate (`similarity` of at least 0.6). */
  on_similar?: ('allow' | 'reject') | undefined;
}
/** The idea to create. */
export interface IdeaInput {
  /** 1 to 200 characters after trimming. */
  title: string;
  /** 1 to 10,000 characters after trimming. */
  body: string;
}
/** The new title or the new body of an idea, or both. A text that is left out stays. */
export interface IdeaEdit {
  /** The new title. 1 to 200 characters after trimming. */
  title?: string | undefined;
  /** The new body. 1 to 10,000 characters after trimming. */
  body?: string | undefined;
  /** The `updated_at` that you have read. If it has changed since then, the edit is refused. */
  if_updated_at?: string | undefined;
  /** The reason, 1 to 500 characters. Webhooks and the author of a deleted idea receive it. */
  reason?: string | undefined;
}
export interface DeleteIdeaQuery {
  /** The reason, 1 to 500 characters. Webhooks and the author of a deleted idea receive it. */
  reason?: string | undefined;
}
/** The idea, comment, note or webhook was deleted. */
export interface Deletion {
  /** The id of the deleted idea, comment, note or webhook. */
  id: number;
  /** Always `true`. */
  deleted: true;
}
export interface FindSimilarIdeasQuery {
  /** The title of a new idea. */
  title?: string | undefined;
  /** The first 1,000 characters of the new body. Needs `title`. */
  body?: string | undefined;
  /** The id of an existing idea, instead of `title`. */
  of?: number | undefined;
}
/** A list of at most 5 similar ideas. */
export interface SimilarIdeaList {
  /** The similar ideas, the most similar first. */
  data: SimilarIdea[];
}
/** An idea with its similarity to a new idea or to another idea. */
export interface SimilarIdea {
  id: number;
  /** A summary of the request, on one line. */
  title: string;
  /** The details, in plain text. */
  body: string;
  /** Whether `body` is only an excerpt, the beginning of a longer body. */
  body_truncated: boolean;
  /** The status category, as a value of the `status` filter. */
  status: 'open' | 'planned' | 'in_progress' | 'done' | 'declined' | 'archived';
  /** The exact status; equals `status` unless the board defines custom statuses. */
  status_key: string;
  /** The meaning of the status, independent of its label. */
  status_category: 'inbox' | 'planned' | 'active' | 'completed' | 'declined' | 'archived';
  /** The board's label for the status. */
  status_label: string;
  /** `pending` while the idea awaits approval. */
  moderation_state: 'published' | 'pending';
  /** `up_count` minus `down_count`. */
  score: number;
  /** Votes for the idea. */
  up_count: number;
  /** Votes against the idea. */
  down_count: number;
  /** Comments on the idea. */
  comment_count: number;
  /** The token's own vote. */
  my_vote: 'up' | 'down' | 'none';
  /** The tags of the idea. */
  tags: Tag[];
  author: Author;
  /** The id of the idea that this one is merged into; null: not merged. */
  merged_into_id: number | null;
  /** When the idea was created. */
  created_at: string;
  /**
   * When the title, body, status, tags, approval or merge of the idea last changed. Each change increases this time.
   */
  updated_at: string;
  /**
   * The address of the idea's page for people, as in mails and chat messages. The page opens only for people who may see the idea.
   */
  url: string;
  /**
   * How similar the idea is, from 0.2 (some words in common) to 1 (the same words in both titles). An idea with at least 0.6 is a near-duplicate.
   */
  similarity: number;
}
export interface GetIdeaQuery {
  /**
   * Adds the first 20 `comments` or `votes`. `votes` needs the `moderate` grant.
   *
   * @maxItems 2
   */
  expand?: ('comments' | 'votes')[] | undefined;
}
/** An idea. It has `comments` or `votes`, the first page of the list, only if `expand` names them. */
export interface ExpandedIdea {
  id: number;
  /** A summary of the request, on one line. */
  title: string;
  /** The details, in plain text. */
  body: string;
  /** Whether `body` is only an excerpt, the beginning of a longer body. */
  body_truncated: boolean;
  /** The status category, as a value of the `status` filter. */
  status: 'open' | 'planned' | 'in_progress' | 'done' | 'declined' | 'archived';
  /** The exact status; equals `status` unless the board defines custom statuses. */
  status_key: string;
  /** The meaning of the status, independent of its label. */
  status_category: 'inbox' | 'planned' | 'active' | 'completed' | 'declined' | 'archived';
  /** The board's label for the status. */
  status_label: string;
  /** `pending` while the idea awaits approval. */
  moderation_state: 'published' | 'pending';
  /** `up_count` minus `down_count`. */
  score: number;
  /** Votes for the idea. */
  up_count: number;
  /** Votes against the idea. */
  down_count: number;
  /** Comments on the idea. */
  comment_count: number;
  /** The token's own vote. */
  my_vote: 'up' | 'down' | 'none';
  /** The tags of the idea. */
  tags: Tag[];
  author: Author;
  /** The id of the idea that this one is merged into; null: not merged. */
  merged_into_id: number | null;
  /** When the idea was created. */
  created_at: string;
  /**
   * When the title, body, status, tags, approval or merge of the idea last changed. Each change increases this time.
   */
  updated_at: string;
  /**
   * The address of the idea's page for people, as in mails and chat messages. The page opens only for people who may see the idea.
   */
  url: string;
  comments?: CommentList | undefined;
  votes?: VoteList | undefined;
}
/** A page of comments, oldest first. */
export interface CommentList {
  /** The entries of this page. */
  data: Comment[];
  /** The number of this page; null if the request used a cursor. */
  page: number | null;
  /** The number of entries per page. The last page can have fewer. */
  per_page: number;
  /** Whether there is a next page. */
  has_more: boolean;
  /** The cursor of the next page; null on the last page. */
  next_cursor: string | null;
}
/** A comment on an idea, in plain text. */
export interface Comment {
  id: number;
  /** The idea that the comment belongs to. */
  idea_id: number;
  /** The comment, in plain text. */
  body: string;
  author: Author;
  /** When the comment was written. */
  created_at: string;
  /** When the comment was written or last edited. Each edit increases this time. */
  updated_at: string;
  /** Whether a moderator wrote it as an official reply, together with a status. */
  official: boolean;
}
/** A page of votes, newest first. */
export interface VoteList {
  /** The entries of this page. */
  data: Vote[];
  /** The number of this page; null if the request used a cursor. */
  page: number | null;
  /** The number of entries per page. The last page can have fewer. */
  per_page: number;
  /** Whether there is a next page. */
  has_more: boolean;
  /** The cursor of the next page; null on the last page. */
  next_cursor: string | null;
}
/** A vote that counts for an idea. */
export interface Vote {
  /** Whether the vote is for the idea or against it. */
  value: 'up' | 'down';
  voter: Voter;
  /** The id of the merged idea on which the vote was cast; null: on this idea itself. */
  carried_from_id: number | null;
  /** When the voter first voted. A changed vote keeps this time. */
  created_at: string;
}
/** The voter of a vote. A token is a voter of its own, separate from its issuer. */
export interface Voter {
  /** Whether a person or an API token cast the vote. */
  kind: 'person' | 'token';
  /** The id of the user or of the token; null for an erased user. */
  id: number | null;
  /** The name of the user or of the token. An erased user is called `Deleted user`. */
  name: string;
  /** The user who issued the token; null for a person. */
  issuer: Author | null;
}
/** The vote to set. */
export interface VoteInput {
  /** The desired state; `none` removes the vote. */
  value: 'up' | 'down' | 'none';
}
/** The tally of an idea after a vote. */
export interface VoteTally {
  /** `up_count` minus `down_count`. */
  score: number;
  /** The token's current vote. */
  my_vote: 'up' | 'down' | 'none';
  /** Votes for the idea. */
  up_count: number;
  /** Votes against the idea. */
  down_count: number;
}
export interface ListVotesQuery {
  /** The page number, from 1. `cursor` is faster and cannot be combined with it. */
  page?: number | undefined;
  /** The number of entries per page; 20 by default. */
  per_page?: number | undefined;
  /** The `next_cursor` of the previous page. Repeat the other parameters. */
  cursor?: string | undefined;
}
/** The comment to add. */
export interface CommentInput {
  /** Plain text, 1 to 500 characters after trimming. */
  body: string;
}
export interface ListCommentsQuery {
  /** The page number, from 1. `cursor` is faster and cannot be combined with it. */
  page?: number | undefined;
  /** The number of entries per page; 20 by default. */
  per_page?: number | undefined;
  /** The `next_cursor` of the previous page. Repeat the other parameters. */
  cursor?: string | undefined;
}
/** The new text of a comment. */
export interface CommentEdit {
  /** The new text. 1 to 500 characters after trimming. */
  body: string;
  /** The `updated_at` that you have read. If it has changed since then, the edit is refused. */
  if_updated_at?: string | undefined;
  /** The reason, 1 to 500 characters. Webhooks and the author of a deleted idea receive it. */
  reason?: string | undefined;
}
export interface DeleteCommentQuery {
  /** The reason, 1 to 500 characters. Webhooks and the author of a deleted idea receive it. */
  reason?: string | undefined;
}
export interface ListEventsQuery {
  /** Returns the events after this cursor. `now` skips earlier events. */
  after?: string | undefined;
  /**
   * Returns only these types, separated by commas: `idea.created`, `idea.status_changed`, `idea.merged`, `idea.unmerged`, `idea.voted`, `comment.created`, `idea.updated`, `idea.deleted`, `idea.tagged`, `comment.updated`, `comment.deleted`. By default, all but `idea.voted`.
   */
  types?: string | undefined;
  /** The maximum number of events; 20 by default. */
  limit?: number | undefined;
  /** Waits up to this number of seconds for an event. A token can have 2 waiting requests. */
  wait?: number | undefined;
  /** `excerpt` cuts the bodies of ideas to 300 characters. */
  body?: ('full' | 'excerpt') | undefined;
}
/** Events of a board, oldest first. */
export interface EventList {
  /** The events, oldest first. */
  data: ListedEvent[];
  /** Whether there are more events now. */
  has_more: boolean;
  /** The value for `after` in the next request. The server always returns one. */
  next_cursor: string;
}
/** An event with its id and its cursor. */
export interface ListedEvent {
  /** The id of the event. Webhooks send it in the header `webhook-id`. */
  id: string;
  /** The cursor of the event. Pass it as `after` to get the later events. */
  cursor: string;
  /** Exactly the body that webhooks deliver. */
  event:
    | IdeaCreatedEvent
    | IdeaStatusChangedEvent
    | IdeaMergedEvent
    | IdeaUnmergedEvent
    | IdeaVotedEvent
    | CommentCreatedEvent
    | IdeaUpdatedEvent
    | IdeaDeletedEvent
    | IdeaTaggedEvent
    | CommentUpdatedEvent
    | CommentDeletedEvent;
}
/** An idea was published: on creation, or on approval of a pending idea. */
export interface IdeaCreatedEvent {
  type: 'idea.created';
  /** When the event happened. */
  timestamp: string;
  data: {
    board: EventBoard;
    idea: EventIdea;
    /** Null when the operator of the server acted. */
    actor: Actor | null;
    /** The changed fields of the idea. */
    changes: Change[];
  };
}
/** The board of the event. */
export interface EventBoard {
  id: number;
  /** The value for the `board` parameter. */
  slug: string;
  /** The board's name. */
  name: string;
}
/** The idea right after the event. */
export interface EventIdea {
  id: number;
  /** A summary of the request, on one line. */
  title: string;
  /** The details, in plain text. */
  body: string;
  /** The status category, as a value of the `status` filter. */
  status: 'open' | 'planned' | 'in_progress' | 'done' | 'declined' | 'archived';
  /** The exact status; equals `status` unless the board defines custom statuses. */
  status_key: string;
  /** The meaning of the status, independent of its label. */
  status_category: 'inbox' | 'planned' | 'active' | 'completed' | 'declined' | 'archived';
  /** The board's label for the status. */
  status_label: string;
  /** `pending` while the idea awaits approval. */
  moderation_state: 'published' | 'pending';
  /** `up_count` minus `down_count`. */
  score: number;
  /** Votes for the idea. */
  up_count: number;
  /** Votes against the idea. */
  down_count: number;
  /** Comments on the idea. */
  comment_count: number;
  /** The tags of the idea. */
  tags: Tag[];
  author: Author;
  /** The id of the idea that this one is merged into; null: not merged. */
  merged_into_id: number | null;
  /** When the idea was created. */
  created_at: string;
  /**
   * When the title, body, status, tags, approval or merge of the idea last changed. Each change increases this time.
   */
  updated_at: string;
  /**
   * The address of the idea's page for people, as in mails and chat messages. The page opens only for people who may see the idea.
   */
  url: string;
  /** Whether `body` is cut. Only in the list of events with `body=excerpt`. */
  body_truncated?: boolean | undefined;
}
/** Who caused the event. */
export interface Actor {
  id: number;
  /** The user's name. */
  name: string;
  /** The token that acted for the user; null when the user acted in person. */
  token_id: number | null;
}
/** A field of the idea that the event changed. */
export interface Change {
  /** The name of the field. */
  field: string;
  /** Its value before the event. */
  from: string | number | null;
  /** Its value after the event. */
  to: string | number | null;
}
/**
 * An idea moved to another status; `changes` has the `status_key` before and after. `reply` is the official reply that the moderator gave with the status, if any; an event `comment.created` also reports it.
 */
export interface IdeaStatusChangedEvent {
  type: 'idea.status_changed';
  /** When the event happened. */
  timestamp: string;
  data: {
    board: EventBoard;
    idea: EventIdea;
    /** Null when the operator of the server acted. */
    actor: Actor | null;
    /** The changed fields of the idea. */
    changes: Change[];
    reply?: Comment | undefined;
  };
}
/** An idea was merged into `target`. */
export interface IdeaMergedEvent {
  type: 'idea.merged';
  /** When the event happened. */
  timestamp: string;
  data: {
    board: EventBoard;
    idea: EventIdea;
    /** Null when the operator of the server acted. */
    actor: Actor | null;
    /** The changed fields of the idea. */
    changes: Change[];
    target: EventIdea;
  };
}
/** The merge of an idea into `target` was undone. */
export interface IdeaUnmergedEvent {
  type: 'idea.unmerged';
  /** When the event happened. */
  timestamp: string;
  data: {
    board: EventBoard;
    idea: EventIdea;
    /** Null when the operator of the server acted. */
    actor: Actor | null;
    /** The changed fields of the idea. */
    changes: Change[];
    target: EventIdea;
  };
}
/** A vote on an idea was cast, changed or removed. Only endpoints that name this type receive it. */
export interface IdeaVotedEvent {
  type: 'idea.voted';
  /** When the event happened. */
  timestamp: string;
  data: {
    board: EventBoard;
    idea: EventIdea;
    /** Null when the operator of the server acted. */
    actor: Actor | null;
    /** The changed fields of the idea. */
    changes: Change[];
    vote: {
      /** The vote now. */
      value: 'up' | 'down' | 'none';
      /** The vote before. */
      previous: 'up' | 'down' | 'none';
    };
  };
}
/** A comment was added to an idea. */
export interface CommentCreatedEvent {
  type: 'comment.created';
  /** When the event happened. */
  timestamp: string;
  data: {
    board: EventBoard;
    idea: EventIdea;
    /** Null when the operator of the server acted. */
    actor: Actor | null;
    /** The changed fields of the idea. */
    changes: Change[];
    comment: Comment;
  };
}
/**
 * The title or the body of an idea was edited. `changes` has the names of the changed fields, without their values: `idea` has the new texts, and the server keeps no earlier texts.
 */
export interface IdeaUpdatedEvent {
  type: 'idea.updated';
  /** When the event happened. */
  timestamp: string;
  data: {
    board: EventBoard;
    idea: EventIdea;
    /** Null when the operator of the server acted. */
    actor: Actor | null;
    /** The changed fields of the idea. */
    changes: Change[];
    /** The reason for the change, if the moderator or the author gave one. */
    reason?: string | undefined;
  };
}
/**
 * An idea was deleted with its comments and votes. `idea` has the last title and, instead of the body, the text `(deleted)`.
 */
export interface IdeaDeletedEvent {
  type: 'idea.deleted';
  /** When the event happened. */
  timestamp: string;
  data: {
    board: EventBoard;
    idea: EventIdea;
    /** Null when the operator of the server acted. */
    actor: Actor | null;
    /** The changed fields of the idea. */
    changes: Change[];
    /** The reason for the change, if the moderator or the author gave one. */
    reason?: string | undefined;
  };
}
/**
 * A tag was added to an idea or removed from it. `changes` has the id of the tag: in `to` if it was added, and in `from` if it was removed.
 */
export interface IdeaTaggedEvent {
  type: 'idea.tagged';
  /** When the event happened. */
  timestamp: string;
  data: {
    board: EventBoard;
    idea: EventIdea;
    /** Null when the operator of the server acted. */
    actor: Actor | null;
    /** The changed fields of the idea. */
    changes: Change[];
  };
}
/** The text of a comment was edited. */
export interface CommentUpdatedEvent {
  type: 'comment.updated';
  /** When the event happened. */
  timestamp: string;
  data: {
    board: EventBoard;
    idea: EventIdea;
    /** Null when the operator of the server acted. */
    actor: Actor | null;
    /** The changed fields of the idea. */
    changes: Change[];
    comment: EditedComment;
    /** The reason for the change, if the moderator or the author gave one. */
    reason?: string | undefined;
  };
}
/** The comment right after the edit, without its author. */
export interface EditedComment {
  id: number;
  /** The idea that the comment belongs to. */
  idea_id: number;
  /** The comment, in plain text. */
  body: string;
  /** When the comment was written. */
  created_at: string;
  /** When the comment was written or last edited. Each edit increases this time. */
  updated_at: string;
  /** Whether a moderator wrote it as an official reply, together with a status. */
  official: boolean;
}
/** A comment was deleted. Other comments on the idea stay. */
export interface CommentDeletedEvent {
  type: 'comment.deleted';
  /** When the event happened. */
  timestamp: string;
  data: {
    board: EventBoard;
    idea: EventIdea;
    /** Null when the operator of the server acted. */
    actor: Actor | null;
    /** The changed fields of the idea. */
    changes: Change[];
    comment: DeletedComment;
    /** The reason for the change, if the moderator or the author gave one. */
    reason?: string | undefined;
  };
}
/** The deleted comment, without its text and its author. */
export interface DeletedComment {
  id: number;
  /** The idea that the comment belongs to. */
  idea_id: number;
  /** When the comment was written. */
  created_at: string;
  /** Whether a moderator wrote it as an official reply, together with a status. */
  official: boolean;
}
/** The status to set. */
export interface IdeaStatusInput {
  /** A key of the board's status registry. */
  status: string;
  /**
   * An official reply to the idea, for example the reason for the status. Plain text, 1 to 500 characters after trimming.
   */
  reply?: string | undefined;
}
/** The tag to assign. */
export interface IdeaTagInput {
  /** The id of a tag of the board, also as a string of digits. */
  tag_id: number;
}
/** The target of the merge. */
export interface MergeInput {
  /** The id of the idea to merge into, also as a string of digits. */
  target_id: number;
}
/** The two ideas after a merge or an unmerge. `target` is null if the idea to unmerge was not merged. */
export interface Merge {
  idea: Idea;
  /** The target of the merge. */
  target: Idea | null;
}
export interface ListNotesQuery {
  /** The page number, from 1. `cursor` is faster and cannot be combined with it. */
  page?: number | undefined;
  /** The number of entries per page; 20 by default. */
  per_page?: number | undefined;
  /** The `next_cursor` of the previous page. Repeat the other parameters. */
  cursor?: string | undefined;
}
/** A page of notes, oldest first. */
export interface NoteList {
  /** The entries of this page. */
  data: Note[];
  /** The number of this page; null if the request used a cursor. */
  page: number | null;
  /** The number of entries per page. The last page can have fewer. */
  per_page: number;
  /** Whether there is a next page. */
  has_more: boolean;
  /** The cursor of the next page; null on the last page. */
  next_cursor: string | null;
}
/** A note about an idea, in plain text. Only moderators can read notes. */
export interface Note {
  id: number;
  /** The idea that the note belongs to. */
  idea_id: number;
  /** The note, in plain text. */
  body: string;
  author: Author;
  /** When the note was written. */
  created_at: string;
  /** When the note was written or last edited. Each edit increases this time. */
  updated_at: string;
}
/** The note to add. */
export interface NoteInput {
  /** Plain text, 1 to 2,000 characters after trimming. */
  body: string;
}
/** The new text of a note. */
export interface NoteEdit {
  /** The new text. 1 to 2,000 characters after trimming. */
  body: string;
  /** The `updated_at` that you have read. If it has changed since then, the edit is refused. */
  if_updated_at?: string | undefined;
}
export interface ListWebhooksQuery {
  /** The page number, from 1. `cursor` is faster and cannot be combined with it. */
  page?: number | undefined;
  /** The number of entries per page; 20 by default. */
  per_page?: number | undefined;
  /** The `next_cursor` of the previous page. Repeat the other parameters. */
  cursor?: string | undefined;
}
/** A page of webhooks, newest first. */
export interface WebhookList {
  /** The entries of this page. */
  data: Webhook[];
  /** The number of this page; null if the request used a cursor. */
  page: number | null;
  /** The number of entries per page. The last page can have fewer. */
  per_page: number;
  /** Whether there is a next page. */
  has_more: boolean;
  /** The cursor of the next page; null on the last page. */
  next_cursor: string | null;
}
/** A webhook: a URL that gets events of the board. This object does not contain the secret of the webhook. */
export interface Webhook {
  id: number;
  /** The URL that gets the events. */
  url: string;
  /** The purpose of the webhook, for people. */
  description: string;
  /**
   * The types of events that the webhook gets. An empty list means all types but `idea.voted`. Only webhooks that people create in the admin area can have an empty list.
   */
  event_types: string[];
  /**
   * `failing`: the last attempt failed, and the server still sends events. `disabled`: the webhook gets no events.
   */
  state: 'enabled' | 'failing' | 'disabled';
  /** Why the webhook is disabled; null if it is not disabled. */
  disabled_reason: string | null;
  /** When the first attempt after the last success failed; null if none has failed since then. */
  failing_since: string | null;
  /** Until when the server also signs with the previous secret; null without a previous secret. */
  previous_secret_expires_at: string | null;
  /** The number of pending deliveries. The server counts at most 1000. */
  pending_count: number;
  /** The token that created the webhook; null if a person created it. */
  token_id: number | null;
  /** When the webhook was created. */
  created_at: string;
}
/** The webhook to create. */
export interface WebhookInput {
  /** An http or https URL. By default, the server refuses URLs with private IP addresses. */
  url: string;
  /** The purpose of the webhook, for people. */
  description?: string | undefined;
  /**
   * The types of events that the webhook gets. By default, the server stores the types that exist now, without `idea.voted`: `idea.created`, `idea.status_changed`, `idea.merged`, `idea.unmerged`, `comment.created`, `idea.updated`, `idea.deleted`, `idea.tagged`, `comment.updated`, `comment.deleted`.
   *
   * @minItems 1
   * @maxItems 11
   */
  event_types?:
    | (
        | 'idea.created'
        | 'idea.status_changed'
        | 'idea.merged'
        | 'idea.unmerged'
        | 'idea.voted'
        | 'comment.created'
        | 'idea.updated'
        | 'idea.deleted'
        | 'idea.tagged'
        | 'comment.updated'
        | 'comment.deleted'
      )[]
    | undefined;
}
/** A webhook with its new secret. */
export interface WebhookWithSecret {
  id: number;
  /** The URL that gets the events. */
  url: string;
  /** The purpose of the webhook, for people. */
  description: string;
  /**
   * The types of events that the webhook gets. An empty list means all types but `idea.voted`. Only webhooks that people create in the admin area can have an empty list.
   */
  event_types: string[];
  /**
   * `failing`: the last attempt failed, and the server still sends events. `disabled`: the webhook gets no events.
   */
  state: 'enabled' | 'failing' | 'disabled';
  /** Why the webhook is disabled; null if it is not disabled. */
  disabled_reason: string | null;
  /** When the first attempt after the last success failed; null if none has failed since then. */
  failing_since: string | null;
  /** Until when the server also signs with the previous secret; null without a previous secret. */
  previous_secret_expires_at: string | null;
  /** The number of pending deliveries. The server counts at most 1000. */
  pending_count: number;
  /** The token that created the webhook; null if a person created it. */
  token_id: number | null;
  /** When the webhook was created. */
  created_at: string;
  /**
   * The new secret, which signs deliveries. The server shows it only once: in the response to a repeated request with the same `Idempotency-Key`, it is null.
   */
  secret: string | null;
}
/** The changes of a webhook. Omitted fields stay unchanged. */
export interface WebhookEdit {
  /** An http or https URL. By default, the server refuses URLs with private IP addresses. */
  url?: string | undefined;
  /** The purpose of the webhook, for people. */
  description?: string | undefined;
  /**
   * The types of events that the webhook gets from now on.
   *
   * @minItems 1
   * @maxItems 11
   */
  event_types?:
    | (
        | 'idea.created'
        | 'idea.status_changed'
        | 'idea.merged'
        | 'idea.unmerged'
        | 'idea.voted'
        | 'comment.created'
        | 'idea.updated'
        | 'idea.deleted'
        | 'idea.tagged'
        | 'comment.updated'
        | 'comment.deleted'
      )[]
    | undefined;
  /** `false` disables the webhook, and its pending deliveries become `dead`. `true` enables it again. */
  enabled?: boolean | undefined;
}
export interface RotateWebhookSecretQuery {
  /** For how many hours the previous secret also signs; 24 by default. With 0, it expires at once. */
  overlap_hours?: number | undefined;
}
/** The delivery of an event to a webhook. */
export interface WebhookDelivery {
  id: number;
  /** The id of the event. Deliveries have it in the header `webhook-id`. */
  event_id: string;
  /** The type of the event. A test event has the type `webhook.test`. */
  type: string;
  /** `pending`: the server will make an attempt. `dead`: the server makes no further attempt by itself. */
  state: 'pending' | 'delivered' | 'dead';
  /** The number of attempts since the creation or the last redelivery. */
  attempt_count: number;
  /** When the delivery was created. */
  created_at: string;
  /** The earliest time of the next attempt; null if the delivery is not pending. */
  next_attempt_at: string | null;
  /** When the delivery was delivered or became dead; null if it is pending. */
  finished_at: string | null;
  /** The last attempt; null before the first attempt. */
  last_attempt: {
    /** When the attempt began. */
    attempted_at: string;
    /** The duration in milliseconds. */
    duration_ms: number;
    /** The HTTP status of the response; null if there was no response. */
    status: number | null;
    /** Why there was no response; null if there was one. */
    error: string | null;
  } | null;
}
export interface ListWebhookDeliveriesQuery {
  /** Returns only the deliveries in this state. */
  state?: ('pending' | 'delivered' | 'dead') | undefined;
  /** The number of entries per page; 20 by default. */
  per_page?: number | undefined;
  /** The `next_cursor` of the previous page. Repeat the other parameters. */
  cursor?: string | undefined;
}
/**
 * A page of deliveries, newest first. With the state `delivered`, a page can be empty although there is a next page.
 */
export interface WebhookDeliveryList {
  /** The deliveries, newest first. */
  data: WebhookDelivery[];
  /** Whether there is a next page. */
  has_more: boolean;
  /** The cursor of the next page; null on the last page. */
  next_cursor: string | null;
}
/** The types of `details`, by the error key. Errors with other keys have no details. */
export interface DetailsByKey {
  board_required: GrantedBoards;
  board_not_granted: GrantedBoards;
  insufficient_scope: InsufficientGrant;
  missing_capability: NeededCapability;
  similar_ideas: NearDuplicates;
  invalid_status: BoardStatuses;
  invalid_tag: BoardTags;
  consecutive_comment: LastComment;
  rate_limited: ExceededLimit;
}
/** The boards that the `board` parameter can name. */
export interface GrantedBoards {
  /** The boards of the token, each with its grant. */
  boards: {
    slug: string;
    name: string;
    grant: Grant;
  }[];
}
/** The lowest grant that allows the action (`needed`), and the grant of the token on the board (`held`). */
export interface InsufficientGrant {
  /** The slug of the board. */
  board: string;
  needed: Grant;
  held: Grant;
}
/** The capability that the action needs. */
export interface NeededCapability {
  needed: Capability;
}
/** The near-duplicates of the refused idea. */
export interface NearDuplicates {
  /** The near-duplicates, the most similar first. */
  ideas: {
    id: number;
    /** The title of the idea. */
    title: string;
    /** The address of the idea's page for people. */
    url: string;
    /** The similarity to the new idea, at most 1. */
    similarity: number;
  }[];
}
/** The statuses of the board. */
export interface BoardStatuses {
  /** The keys of the status registry, in order. */
  statuses: string[];
}
/** The tags of the board. */
export interface BoardTags {
  /** The tags of the board, sorted by name. */
  tags: Tag[];
}
/** The last comment on the idea. The same user cannot comment again until another user has commented. */
export interface LastComment {
  /** The user's comment, the last on the idea. */
  last_comment: {
    id: number;
    created_at: string;
  };
}
/** The rate limit that the request exceeded. */
export interface ExceededLimit {
  /** The exceeded rate limit: `apitoken:read`, `apitoken:write` or `ip`. */
  limit: string;
  /** Requests allowed per window. */
  allowed: number;
  /** The length of the window in seconds. */
  window_seconds: number;
  /** Seconds until the window ends. */
  retry_after: number;
}
/** Sent on request to test a webhook. It does not report a change. */
export interface WebhookTestEvent {
  type: 'webhook.test';
  /** When somebody requested the test event. */
  timestamp: string;
  data: {
    /** The webhook under test. */
    endpoint_id: number;
  };
}
/** One reason why a request does not match its schema. */
export interface ValidationIssue {
  /**
   * The path of the value: `body`, `query` or `headers` first (`arguments` or `_meta` in a tool call), then field names and array positions.
   */
  path: (string | number)[];
  /** The problem as a code for programs. */
  code: string;
  /** The problem as a sentence for people. */
  message: string;
  /** Only with `unrecognized_keys`: the fields that exist. */
  known?: string[] | undefined;
}
