import { createEstop } from '@estop/server';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
const estop = createEstop();
const mode = process.argv[2];
const make = () => { const s = new McpServer({name:'a',version:'1'}); s.registerTool('quick', {}, () => ({content:[{type:'text',text:'x'}]})); return mode==='bare' ? s : estop.protect(s); };
const h = createMcpHandler(make);
const ENV = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28','io.modelcontextprotocol/clientCapabilities': {}, 'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' } };
const era = process.argv[3];
let id=0;
async function once(){
  id++;
  const headers = {accept:'application/json, text/event-stream','content-type':'application/json', ...(era==='modern'?{'mcp-protocol-version':'2026-07-28','mcp-method':'tools/call','mcp-name':'quick'}:{'mcp-protocol-version':'2025-11-25'})};
  const body = {jsonrpc:'2.0',id,method:'tools/call',params:{name:'quick',arguments:{},...(era==='modern'?{_meta:ENV}:{})}};
  const ac = new AbortController();
  const r = await h.fetch(new Request('http://x/mcp',{method:'POST',headers,body:JSON.stringify(body),signal:ac.signal}),{parsedBody:body});
  const t = await r.text(); if(!t.includes('"x"')) throw new Error(t);
}
for(let i=0;i<3000;i++) await once();
const N=6000; const c0=process.cpuUsage(); const t=performance.now(); for(let i=0;i<N;i++) await once(); const c=process.cpuUsage(c0);
console.log(mode,era,((c.user+c.system)/N).toFixed(1),'us cpu', ((performance.now()-t)*1000/N).toFixed(1),'us');
process.exit(0);
