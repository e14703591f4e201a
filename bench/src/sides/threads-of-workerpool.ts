/** The same functions, as workerpool wants them. */
import workerpool from 'workerpool';
import { atomicsWait, badRegex, microtasks, spin } from './threads.ts';

workerpool.worker({ spin, badRegex, atomicsWait, microtasks });
