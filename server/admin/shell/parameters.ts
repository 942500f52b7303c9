import type { FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/domain-error.ts';
import { fieldOf, idFieldOf } from './form-fields.ts';

/** The number in the path of a page, such as the one of /admin/tokens/:id. What is none names nothing. */
export function idIn({ params }: FastifyRequest, name = 'id'): number {
  const id = idFieldOf(params, name);
  if (id === undefined) throw new DomainError('not_found');
  return id;
}

/** The short name in the path of a page, such as a board's slug or a status's key. What cannot be one names nothing. */
export function wordIn({ params }: FastifyRequest, name: string): string {
  const text = fieldOf(params, name);
  if (!/^[a-z0-9_-]{1,63}$/.test(text)) throw new DomainError('not_found');
  return text;
}

/** The number that the address gives as a parameter, such as where a list goes on; undefined for none. */
export function numberIn({ query }: FastifyRequest, name: string): number | undefined {
  return idFieldOf(query, name);
}

/** What a page says above all else, by the word in its address: what was just done, after the redirect that told of it. */
export function noticeIn({ query }: FastifyRequest, notices: Readonly<Record<string, string>>): string | undefined {
  const word = fieldOf(query, 'notice');
  return Object.hasOwn(notices, word) ? notices[word] : undefined;
}
