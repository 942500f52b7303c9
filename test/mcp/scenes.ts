import { createHash } from 'node:crypto';
import type { Grant } from '../../contract/grants.ts';

/** The data of one test case: an account with a board. The ids are equal on the two servers that the test compares. */
export interface Scene {
  accountId: number;
  issuerId: number;
  /** The id of another member of the account, who is the author of the comment. */
  otherUserId: number;
  boardId: number;
  boardSlug: string;
  otherBoardId: number;
  tokenId: number;
  token: string;
  ideaId: number;
  targetId: number;
  mergedId: number;
  tagId: number;
  assignedTagId: number;
  spareId: number;
  commentedId: number;
  commentId: number;
  webhookId: number;
  spareWebhookId: number;
  deliveryId: number;
}

const secret = 'A'.repeat(43);
const secretHash = createHash('sha256').update(secret).digest('hex');

/** Returns the data of the nth test case. The ids in this data are far above the ids that the database assigns. */
export function sceneOf(n: number): Scene {
  const base = 1_000_000 + n * 10;
  return {
    accountId: base,
    issuerId: base,
    otherUserId: base + 1,
    boardId: base,
    boardSlug: `board-${n}`,
    otherBoardId: base + 1,
    tokenId: base,
    token: `ib_${base}_${secret}`,
    ideaId: base,
    targetId: base + 1,
    mergedId: base + 2,
    tagId: base,
    assignedTagId: base + 1,
    spareId: base,
    commentedId: base,
    commentId: base,
    webhookId: base,
    spareWebhookId: base,
    deliveryId: base,
  };
}

/**
 * Returns the SQL that creates the data of a test case. The SQL of all cases can be joined and run as one statement.
 */
export function makeScene(scene: Scene, grant: Grant): string {
  const { accountId, issuerId, otherUserId, boardId, boardSlug, otherBoardId, tokenId, ideaId, targetId, mergedId } =
    scene;
  const idea = (id: number, title: string, mergedInto = 'null') => `
    insert into ideas (id, account_id, board_id, author_id, status_id, title, body, moderation_state, merged_into_id)
    overriding system value
    values (${id}, ${accountId}, ${boardId}, ${issuerId}, ${boardId}, '${title}', 'About it.', 'published', ${mergedInto});`;
  return `
    insert into accounts (id, slug, name) overriding system value values (${accountId}, 'of-${boardSlug}', 'An account');
    insert into users (id, email, name) overriding system value
    values (${issuerId}, '${boardSlug}@example.com', 'Ada'), (${otherUserId}, 'other-${boardSlug}@example.com', 'Bea');
    insert into memberships (account_id, user_id, role) values (${accountId}, ${issuerId}, 'admin');
    insert into boards (id, account_id, slug, name) overriding system value
    values (${boardId}, ${accountId}, '${boardSlug}', 'A board'), (${otherBoardId}, ${accountId}, 'other', 'Another');
    insert into statuses (id, account_id, board_id, key, category, label, position) overriding system value
    values (${boardId}, ${accountId}, ${boardId}, 'open', 'inbox', 'Open', 0),
      (${boardId + 1}, ${accountId}, ${boardId}, 'planned', 'planned', 'Planned', 1);
    insert into tags (id, account_id, board_id, name, color) overriding system value
    values (${scene.tagId}, ${accountId}, ${boardId}, 'a', '#0f766e'),
      (${scene.assignedTagId}, ${accountId}, ${boardId}, 'b', '#0f766e');
    insert into voters (id, account_id) overriding system value values (${tokenId}, ${accountId});
    insert into api_tokens (id, account_id, issuer_id, voter_id, name, secret_hash, capabilities) overriding system value
    values (${tokenId}, ${accountId}, ${issuerId}, ${tokenId}, 'A token', '\\x${secretHash}', '{manage_webhooks}');
    insert into api_token_boards (account_id, token_id, board_id, level)
    values (${accountId}, ${tokenId}, ${boardId}, '${grant}');
    ${idea(ideaId, 'The idea')} ${idea(targetId, 'The target')} ${idea(mergedId, 'Merged', String(targetId))}
    insert into comments (id, account_id, idea_id, author_id, body) overriding system value
    values (${scene.commentId}, ${accountId}, ${ideaId}, ${otherUserId}, 'The comment');
    update ideas set comment_count = 1 where id = ${ideaId};
    insert into merges (account_id, source_id, target_id) values (${accountId}, ${mergedId}, ${targetId});
    insert into idea_tags (idea_id, tag_id, account_id) values (${ideaId}, ${scene.assignedTagId}, ${accountId});
    insert into webhook_endpoints (id, account_id, board_id, url, secret, event_types) overriding system value
    values (${scene.webhookId}, ${accountId}, ${boardId}, 'https://hooks.example.com/', 'sealed', '{idea.unmerged}');
    with event as (
      insert into events (account_id, type, data, body, occurred_at)
      values (${accountId}, 'webhook.test', '{}', '{"type":"webhook.test"}', now()) returning id
    )
    insert into webhook_deliveries (id, account_id, endpoint_id, event_id, state, finished_at) overriding system value
    select ${scene.deliveryId}, ${accountId}, ${scene.webhookId}, id, 'dead', now() from event;`;
}
