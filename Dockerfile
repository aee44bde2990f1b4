# docker build -t unelisa . && docker run --rm -v "$PWD/demo:/demo" unelisa
FROM python:3.13-slim
WORKDIR /src
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src src
RUN pip install --no-cache-dir --constraint constraints.txt ".[report,review,omop]" && rm -rf /src
RUN useradd --create-home unelisa && mkdir /demo && chown unelisa /demo
USER unelisa
WORKDIR /
ENTRYPOINT ["unelisa"]
CMD ["demo", "--out", "/demo"]
