import type { ErrorKey } from './errors.ts';

/** What an agent best does about an error: the key says what is wrong, and a model has to know how to go on. */
export function adviceFor(key: ErrorKey): string {
  return advice[key];
}

const asModerator =
  'Do not try again with this token. Tell the user that the person who issued the token has to be a moderator, an admin or the owner again, or that another token is needed.';

const advice: Record<ErrorKey, string> = {
  malformed_json: 'Send one JSON-RPC message as UTF-8 JSON.',
  invalid_message: 'Send one message as the revision of the protocol has it that MCP-Protocol-Version names.',
  bad_request: 'Send one complete HTTP/1.1 request with a Host header.',
  invalid_content_length: 'Send the exact length of the body, or send it in chunks.',
  unknown_method: 'Use POST.',
  board_required: 'Call get_token for the boards that the token grants, then call again with the slug of one as board.',
  unauthorized: 'The connection has to be authorized anew. Tell the user.',
  agent_api_unavailable: 'Do not try again: the plan of the account does not include this. Tell the user.',
  board_not_granted: 'Call get_token for the boards that the token grants, and use one of their slugs as board.',
  insufficient_scope:
    'Do not try again with this token. get_token shows its level on each board; tell the user which level is needed: read to read, write to create, vote and comment, moderate for the rest.',
  token_issuer_not_moderator: asModerator,
  user_blocked: 'Do not try again: whoever issued the token is blocked and may only read. Tell the user.',
  origin_not_allowed: 'The operator of the server has to allow the origin of the page.',
  not_found:
    'Check the id, and the board when the token grants several. list_ideas finds ideas by words of their titles. An idea that awaits approval is there for moderators alone, and one that was merged takes no votes: get_idea shows merged_into_id.',
  method_not_allowed: 'Use POST.',
  request_timeout: 'Send the whole request at once.',
  idempotency_key_in_use:
    'The first call with this key is still running: wait a few seconds, then send the same call again.',
  payload_too_large: 'Send less: titles have at most 200 characters, bodies 10,000 and comments 500.',
  unsupported_media_type: 'Send application/json without a Content-Encoding.',
  expectation_failed: 'Send no Expect header.',
  validation_failed:
    'Correct the arguments that issues names, as the input schema of the tool has them, and call again.',
  invalid_status: 'Call get_board and use the key of one of its statuses.',
  invalid_tag: 'Call get_board and use the id of one of its tags.',
  consecutive_comment:
    'Do not comment again until somebody else has. list_comments shows what was written; nothing can be added to it.',
  idea_not_published:
    'The idea awaits approval, which people give in the product. Leave it alone until get_idea shows moderation_state published.',
  idea_already_merged: 'get_idea shows merged_into_id: use that idea, or undo the merge with unmerge_idea first.',
  merge_into_self: 'id is the duplicate and target_id the idea that stays: give two different ids.',
  idempotency_key_reused: 'Use a new key for a new call, or repeat the first call exactly.',
  board_frozen:
    'Nothing can be changed on this board for now; reading goes on. Tell the user, and do not try again soon.',
  submissions_not_open_yet: 'get_board shows when ideas are taken (submissions_open_at). Until then, tell the user.',
  submissions_closed: 'The board takes no more ideas (submissions_close_at of get_board). Tell the user.',
  voting_not_open_yet: 'get_board shows when votes are taken (voting_open_at). Until then, tell the user.',
  voting_closed: 'The board takes no more votes (voting_close_at of get_board). Tell the user.',
  status_votes_closed: 'Ideas in this status take no votes (allow_votes of get_board). Tell the user.',
  status_comments_closed: 'Ideas in this status take no comments (allow_comments of get_board). Tell the user.',
  headers_too_large: 'Send fewer or shorter headers.',
  rate_limited: 'Wait as many seconds as retry_after says, and make fewer calls: get_token shows what is left.',
  internal_error: 'The server failed. Try once more in a minute, then tell the user.',
  service_unavailable:
    'The database is unavailable or busy with the same idea. Wait as many seconds as retry_after says, then try again.',
};
