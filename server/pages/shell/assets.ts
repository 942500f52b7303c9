import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { compress, sendCompressed } from '../../http/compressed.ts';
import type { TextKey } from '../../text/catalogue.ts';

/** The static files of the pages. Their names contain a hash of the content, so browsers may cache them forever. */
const style = loadAsset('style.css', 'text/css; charset=utf-8');
const icon = loadAsset('icon.svg', 'image/svg+xml');
const copyAsset = loadAsset('copy.js', 'text/javascript; charset=utf-8');
const boardAsset = loadAsset('../boards/board.js', 'text/javascript; charset=utf-8');
const documentationStyle = loadAsset('../documentation/documentation.css', 'text/css; charset=utf-8');
const startReference = loadAsset('../documentation/start-reference.js', 'text/javascript; charset=utf-8');

export const stylesheetPath = style.path;
export const iconPath = icon.path;
export const documentationStylePath = documentationStyle.path;
export const startReferencePath = startReference.path;

export interface Script {
  path: string;
  /** Whether the script sends requests to this server. */
  isFetching: boolean;
  /** The catalogue keys of the script's texts. The page passes the texts to the script in data attributes. */
  texts?: Readonly<Record<string, TextKey>>;
}

/** Adds a copy button beside each text that people may copy. */
export const copyScript: Script = {
  path: copyAsset.path,
  isFetching: false,
  texts: { copy: 'shell.copy.copy', copied: 'shell.copy.copied', selected: 'shell.copy.selected' },
};
/** Lets people vote without a page load, and shows similar ideas while a person types a title. */
export const boardScript: Script = { path: boardAsset.path, isFetching: true };

/** The header Cache-Control of a file whose path changes with its content. */
export const immutable = 'public, max-age=31536000, immutable';

export async function serveAssets(app: FastifyInstance) {
  for (const { path, type, compressed } of [style, icon, copyAsset, boardAsset, documentationStyle, startReference]) {
    app.get(path, async (request, reply) => {
      reply.header('Cache-Control', immutable).type(type);
      return sendCompressed(request, reply, compressed);
    });
  }
}

function loadAsset(file: string, type: string) {
  const content = readFileSync(new URL(file, import.meta.url), 'utf8');
  const extension = file.slice(file.lastIndexOf('.'));
  return {
    path: `/assets/${hash('sha256', content, 'hex').slice(0, 16)}${extension}`,
    type,
    compressed: compress(content),
  };
}
