/** What a client says, in either era. */
import type { Setup } from '../setups.ts';

export interface Frame {
  readonly jsonrpc: '2.0';
  readonly id?: number;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

const LEGACY = '2025-11-25';
const MODERN = '2026-07-28';
const clientInfo = { name: 'by-hand', version: '1' };
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': clientInfo,
  'io.modelcontextprotocol/clientCapabilities': {},
};

export const revisionOf = (era: Setup['era']): string => (era === 'legacy' ? LEGACY : MODERN);

/** Only the legacy era has it. */
export const initialize: Frame = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: LEGACY, capabilities: {}, clientInfo },
};

export const initialized: Frame = { jsonrpc: '2.0', method: 'notifications/initialized', params: {} };

export function callOf(era: Setup['era'], id: number, args: object): Frame {
  const params = { name: 'slow_marker', arguments: args, ...(era === 'modern' && { _meta: ENVELOPE }) };
  return { jsonrpc: '2.0', id, method: 'tools/call', params };
}

export const cancelOf = (requestId: number): Frame => ({
  jsonrpc: '2.0',
  method: 'notifications/cancelled',
  params: { requestId },
});
