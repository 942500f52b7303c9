/** Generates contract/openapi.json from the contract. */
import { buildOpenApiDocument } from '../contract/openapi.ts';
import { writeGenerated } from './generated-file.ts';

writeGenerated('contract/openapi.json', `${JSON.stringify(buildOpenApiDocument(), null, 2)}\n`, 'openapi');
