import { launch } from './launch.ts';

await launch('runWorker');
