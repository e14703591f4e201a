import { createEstop } from '@estop/server';
import { McpServer } from '@modelcontextprotocol/server';
const estop = createEstop();
function loop(f,n){ for(let i=0;i<n/3;i++) f(); const c0=process.cpuUsage(); for(let i=0;i<n;i++) f(); const c=process.cpuUsage(c0); return ((c.user+c.system)/n).toFixed(2); }
const mk=()=>{ const s = new McpServer({name:'a',version:'1'}); return s; };
console.log('new', loop(mk,20000), 'new+protect', loop(()=>estop.protect(mk()),20000));
process.exit(0)
