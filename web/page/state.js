// What a reader changed of the page, in its address behind the anchor: #ANCHOR?pin=TABLE:STORE&hide=TABLE:STORE&scale=TABLE:log.
// A page from a file may change nothing else of its address.

const split = (text) => (text ? text.split(',').map((part) => part.split(':').map(decodeURIComponent)) : []);
const joined = (pairs) => pairs.map((pair) => pair.map(encodeURIComponent).join(':')).join(',');

export const anchor = () => decodeURIComponent(location.hash.slice(1).split('?')[0]);

export function read() {
  const fields = new URLSearchParams(location.hash.split('?')[1] ?? '');
  const raw = (name) => split((fields.get(name) ?? '').replaceAll('+', ' '));
  return { pin: raw('pin'), hide: raw('hide'), scale: raw('scale') };
}

// write keeps the anchor that the address has.
export function write(state) {
  const fields = ['pin', 'hide', 'scale'].filter((name) => state[name].length).map((name) => `${name}=${encodeURIComponent(joined(state[name]))}`).join('&');
  const at = location.hash.slice(1).split('?')[0];
  history.replaceState(null, '', at || fields ? `#${at}${fields ? `?${fields}` : ''}` : location.pathname + location.search);
}
