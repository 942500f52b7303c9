import type { ErrorKey } from './errors.ts';
import { changeMinutes } from './limits.ts';

/** Returns advice that tells an AI agent how to continue after an error with this key. */
export function adviceFor(key: ErrorKey): string {
  return advice[key];
}

const asModerator =
  'Do not retry with this token. Tell the user: the person who issued the token must be a moderator, an admin or the owner again, or another token is needed.';

const advice: Record<ErrorKey, string> = {
  malformed_json: 'Send one JSON-RPC message as UTF-8 JSON.',
  invalid_message: 'Send one message in the format of the protocol revision that MCP-Protocol-Version names.',
  bad_request: 'Send one complete HTTP/1.1 request with a Host header.',
  invalid_content_length: 'Send the exact length of the body, or use chunked encoding.',
  unknown_method: 'Use POST.',
  board_required: 'Call again with the slug of one of the listed boards as board.',
  unauthorized: 'Tell the user to authorize the connection again.',
  network_not_allowed:
    'Do not retry from here. Tell the user that the token works only in some networks. An owner or admin can change them.',
  agent_api_unavailable: 'Do not retry. Tell the user that the plan of the account does not include the Agent API.',
  board_not_granted: 'Use the slug of one of the listed boards as board.',
  insufficient_scope:
    'Do not retry. Tell the user that this needs a token with the needed grant on this board, and an address without readonly=true. whoami shows the grants.',
  token_issuer_not_moderator: asModerator,
  missing_capability:
    'Do not retry. Tell the user that this needs a token with the needed capability, which an owner or admin can create, and an address without readonly=true. whoami shows the capabilities.',
  user_blocked: 'Do not retry. Tell the user that the person who issued the token is blocked and may only read.',
  not_author:
    'Do not retry. Tell the user that only the author of the text and moderators may change it. To object, write a comment.',
  origin_not_allowed: 'Ask the operator of the server to allow the origin of the page.',
  not_found:
    'Check the id, and the board if the token grants several. list_ideas finds ideas by words of their titles. Only moderators see ideas that await approval. A merged idea takes no votes: get_idea shows its merged_into_id.',
  method_not_allowed: 'Use POST.',
  request_timeout: 'Send the whole request at once.',
  idempotency_key_in_use:
    'The first call with this key is still running. Wait a few seconds, then send the same call again.',
  idea_changed:
    'Read the idea again with get_idea. If the edit still makes sense, call again with its updated_at as if_updated_at.',
  comment_changed:
    'Read the comments again with list_comments. If the edit still makes sense, call again with the new updated_at.',
  note_changed:
    'Read the notes again with list_notes. If the edit still makes sense, call again with the new updated_at.',
  similar_ideas:
    'Read the listed ideas with get_idea. If one has the same request, vote or comment on it. Otherwise ask the user, and call create_idea again without on_similar.',
  cursor_expired: 'Call again without after to read the oldest events, or with after=now to skip them.',
  payload_too_large: 'Send less: titles have at most 200 characters, bodies 10,000, notes 2,000 and comments 500.',
  unsupported_media_type: 'Send application/json without a Content-Encoding.',
  expectation_failed: 'Send no Expect header.',
  validation_failed: 'Correct the arguments named in issues to match the input schema of the tool, and call again.',
  invalid_status: 'Use one of the listed statuses.',
  invalid_tag: 'Use the id of one of the listed tags. Tags cannot be created here.',
  too_many_tags:
    'Do not retry. Keep the tags, or remove one with remove_idea_tag first if the user agrees: get_idea shows them.',
  consecutive_comment: `Do not comment again until somebody else has commented. Within ${changeMinutes} minutes, edit_comment can change your comment.`,
  change_window_closed:
    'Do not retry. Tell the user that the time for changes is over. A moderator can still change the text.',
  idea_in_use: 'Do not retry. Tell the user that other people use the idea, and that a moderator can delete it.',
  idea_has_merged:
    'Ask the user. To delete the idea, first undo the merges with unmerge_idea. To remove only its text, use edit_idea.',
  idea_not_published:
    'The idea awaits approval by a person. Leave it alone until get_idea shows moderation_state published.',
  idea_already_merged: 'Use the idea in merged_into_id of get_idea, or first undo the merge with unmerge_idea.',
  merge_into_self: 'Give two different ids: id is the duplicate, and target_id is the idea that stays.',
  too_many_webhooks: 'Do not retry. Ask the user which webhook to delete: list_webhooks shows those of this board.',
  webhook_disabled: 'Ask the user whether to enable the webhook with update_webhook, then call again.',
  idempotency_key_reused: 'Use a new key for a new call, or repeat the first call exactly.',
  board_frozen: 'The board is read-only for now. Tell the user, and do not retry soon.',
  submissions_not_open_yet: 'Tell the user when the board starts to take ideas: submissions_open_at of get_board.',
  submissions_closed: 'Tell the user that the board no longer takes ideas (submissions_close_at of get_board).',
  voting_not_open_yet: 'Tell the user when voting starts: voting_open_at of get_board.',
  voting_closed: 'Tell the user that voting has ended (voting_close_at of get_board).',
  status_votes_closed: 'Tell the user that ideas in this status take no votes (allow_votes of get_board).',
  status_comments_closed: 'Tell the user that ideas in this status take no comments (allow_comments of get_board).',
  headers_too_large: 'Send fewer or shorter headers.',
  rate_limited: 'Wait retry_after seconds, then make fewer calls. whoami shows how many are left.',
  too_many_waits: 'Call again without wait, or wait some seconds first.',
  internal_error: 'The server failed. Retry once in a minute. If it fails again, tell the user.',
  service_unavailable: 'The database is unavailable or busy with the same idea. Wait retry_after seconds, then retry.',
};
