import { DomainError } from '../domain/domain-error.ts';
import type { Principal } from './authenticate.ts';

export type GrantedBoard = Principal['boards'][number];

/**
 * The board that a request is for (Authentication, 6): the one of a token with one board, else the one that the
 * board parameter names.
 */
export function resolveBoard(principal: Principal, slug: unknown): GrantedBoard {
  if (slug !== undefined && typeof slug !== 'string') {
    // Only the call of a tool can have a board that is neither a word nor several.
    const message = Array.isArray(slug) ? 'Give board once' : 'Must be the slug of a board';
    throw new DomainError('validation_failed', [{ path: ['query', 'board'], code: 'invalid_type', message }]);
  }
  const { boards } = principal;
  if (slug === undefined && boards.length > 1) throw new DomainError('board_required');
  const board = slug === undefined ? boards[0] : boards.find(granted => granted.slug === slug);
  if (!board) throw new DomainError('board_not_granted');
  return board;
}
