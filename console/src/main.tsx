/** Mounts the console. */
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app/app.tsx';
import { applyStoredScheme } from './app/colour-scheme.ts';
import './styles/tokens.css';
import './styles/base.css';

applyStoredScheme();
const place = document.getElementById('console');
if (place === null) throw new Error('Cannot mount the console: the page has no element "console"');
createRoot(place).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
