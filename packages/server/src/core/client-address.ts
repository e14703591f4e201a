/**
 * Which address a request came from, when proxies that the operator named stand in between.
 *
 * X-Forwarded-For is whatever the client wrote, until a named proxy has added to it: without named proxies it is not
 * read at all. Reads no ports and no `Forwarded` header: an entry that is not a plain address counts as garbage.
 */
import { BlockList, isIP, isIPv4 } from 'node:net';
import { inspect } from 'node:util';

/** Proxies whose word on the address before theirs is taken. */
export interface TrustedProxies {
  /** @param address in canonical form */
  has(address: string): boolean;
}

/**
 * @param entries addresses and CIDRs, of IPv4 and IPv6; an IPv6 range names no IPv4 address, also not `::/0`
 * @throws TypeError at once for an entry that is neither, naming it
 */
export function trustedProxies(entries: readonly string[]): TrustedProxies {
  if (!Array.isArray(entries)) throw new TypeError(`estop: trustedProxies must be a list, got ${inspect(entries)}`);
  // A list for each family: one BlockList for both would let `::/0` match every IPv4 address.
  const ranges = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const entry of entries) {
    const { address, prefix } = parseEntry(entry);
    ranges[familyOf(address)].addSubnet(address, prefix, familyOf(address));
  }
  return { has: (address) => ranges[familyOf(address)].check(address, familyOf(address)) };
}

/**
 * Walks from the peer to the left through X-Forwarded-For, past named proxies, to the first address that is none.
 *
 * Garbage ends the walk at the last named proxy: what stands left of it could be anyone's. Never throws.
 *
 * @param peerAddress the other end of the socket
 * @param forwardedFor the header, or its several lines in order
 * @returns in canonical form; `undefined` when the peer has no IP address
 */
export function clientAddress(
  peerAddress: unknown,
  forwardedFor: unknown,
  proxies: TrustedProxies | undefined,
): string | undefined {
  let client = canonicalAddress(peerAddress);
  if (client === undefined || proxies === undefined) return client;
  const hops = hopsOf(forwardedFor);
  while (proxies.has(client)) {
    const before = canonicalAddress(hops.pop());
    if (before === undefined) break;
    client = before;
  }
  return client;
}

/** IPv4 as it is, mapped IPv4 unwrapped, IPv6 as RFC 5952 writes it, without its zone; `undefined` for anything else. */
export function canonicalAddress(address: unknown): string | undefined {
  if (typeof address !== 'string' || isIP(address) === 0) return undefined;
  if (isIPv4(address)) return address;
  const canonical = canonicalIPv6(address.replace(/%.*$/s, ''));
  const mapped = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(canonical);
  return mapped === null ? canonical : [mapped[1], mapped[2]].map(twoBytes).join('.');
}

/** The /64 of an IPv6 address: what one host is routinely given. */
export function prefix64(canonical: string): string {
  const [left = '', right = ''] = canonical.split('::');
  const head = left.split(':').filter(Boolean);
  const tail = right.split(':').filter(Boolean);
  const groups = [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail];
  return `${canonicalIPv6(`${groups.slice(0, 4).join(':')}::`)}/64`;
}

function canonicalIPv6(address: string): string {
  return new URL(`http://[${address}]`).hostname.slice(1, -1);
}

function twoBytes(group: string | undefined): string {
  const value = Number.parseInt(group ?? '', 16);
  return `${value >> 8}.${value & 255}`;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv4(address) ? 'ipv4' : 'ipv6';
}

function hopsOf(forwardedFor: unknown): string[] {
  const lines: unknown[] = Array.isArray(forwardedFor) ? forwardedFor : [forwardedFor];
  // A line that is no text is garbage in its place, not a line less.
  return lines.flatMap((line) => (typeof line === 'string' ? line.split(',').map((hop) => hop.trim()) : ['']));
}

function parseEntry(entry: unknown): { address: string; prefix: number } {
  const [, given = '', bits] = (typeof entry === 'string' && /^([^/%]+)(?:\/(0|[1-9]\d{0,2}))?$/.exec(entry)) || [];
  const address = canonicalAddress(given);
  const widest = isIPv4(given) ? 32 : 128;
  const prefix = bits === undefined ? widest : Number(bits);
  if (address === undefined || prefix > widest) {
    throw new TypeError(`estop: trustedProxies: ${inspect(entry)} is neither an address nor a CIDR`);
  }
  if (familyOf(address) === familyOf(given)) return { address, prefix };
  if (prefix >= 96) return { address, prefix: prefix - 96 };
  throw new TypeError(
    `estop: trustedProxies: ${inspect(entry)} is wider than all of IPv4; name an IPv6 range by itself`,
  );
}
