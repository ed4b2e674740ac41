import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';
import { CheckField, TextField } from './field.tsx';

const WITH_TEXTS = { label: 'Port', hint: 'Of the backend', error: 'is too high' };

it.each([
  ['a text field', createElement(TextField, { ...WITH_TEXTS, value: '', onValue: () => undefined })],
  ['a box', createElement(CheckField, { ...WITH_TEXTS, checked: true, onChecked: () => undefined })],
])('ties hint and error to %s, for screen readers', (_name, field) => {
  const markup = renderToStaticMarkup(field);
  const described = /aria-describedby="([^"]*)"/.exec(markup)?.[1]?.split(' ') ?? [];
  expect(described.map((id) => new RegExp(`id="${id}"[^>]*>([^<]*)`).exec(markup)?.[1])).toEqual([
    'Of the backend',
    'is too high',
  ]);
});
